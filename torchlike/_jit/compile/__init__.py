"""From a recorded graph to a program, its calls, and the node of a call on the tape."""
