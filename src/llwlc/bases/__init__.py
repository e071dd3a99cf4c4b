"""Constrained eigenbases of links: how they are asked for, computed, kept and handed to a network."""
