"""Tables, figures and a page to explore, from run folders alone; never imports JAX."""

from drspcrl.report.write import write_report

__all__ = ["write_report"]
