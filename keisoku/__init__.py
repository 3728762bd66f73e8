"""keisoku measures what a network device does to every frame, and states how sure it is."""

from importlib.metadata import version

__version__ = version("keisoku")
