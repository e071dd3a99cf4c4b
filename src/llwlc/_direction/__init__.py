"""Which way a link points: a small model beside the one that says whether there is a link."""
