"""The admin service: looks into a running platform, mends what is stuck, and records who did what and why."""
