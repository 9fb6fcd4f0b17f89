"""The parts of the demo: the files, their features, three ways to label them, and what is shown."""
