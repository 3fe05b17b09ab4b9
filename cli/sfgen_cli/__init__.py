"""The command line of sfgen. It reads options, calls the library, and shows what comes back; nothing else."""
