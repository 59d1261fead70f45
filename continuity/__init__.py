"""The pure state machine and its two faces, Tau and Basic Memory; history itself lives in `journal`."""
