"""The packer of rows that is there: the compiled one, or the one that needs no compiler."""

from __future__ import annotations

from mainstem.model.new_columns import Packer

PACKER: type[Packer]
try:
    from mainstem.model import _row_packer

    PACKER = _row_packer.RowPacker
except ImportError:  # installed without a compiler
    from mainstem.model import row_packer

    PACKER = row_packer.RowPacker
