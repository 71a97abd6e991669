"""What runs inside the jail. Nothing here keeps a program in: that is the work of the jail and of the host."""
