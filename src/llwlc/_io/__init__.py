"""Tables in and out: files, frames and arrow tables as columns, before anything is known of a graph."""
