"""The folder that ``PYTHONPATH`` names for the processes of a program in which ``torch`` is
torchlike: Python runs ``sitecustomize`` from it when it starts."""
