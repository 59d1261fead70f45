"""What builds, checks and measures this repository; nothing of it is shipped or imported by what is."""
