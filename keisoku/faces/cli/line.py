"""`keisoku line`: made from the entry of the table of measurements. It measures nothing itself."""

from __future__ import annotations

from keisoku.faces.cli import measuring

command = measuring.command("line")
