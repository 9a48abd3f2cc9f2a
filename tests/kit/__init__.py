"""What tests share: a manual event loop, a store and a dispatcher in memory, small runs, and the parts on top."""
