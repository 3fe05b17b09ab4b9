"""The parts of a pushdown engine that do not depend on how it steps."""
