"""The methods by the names used on the command line."""
from .cotta import Cotta
from .eata import Eata
from .entropy import OdinTent, PseudoLabel, Tent
from .fixed import BnStats, Lame, Source
from .rotta import Rotta
from .sar import Sar
from .sotta import Sotta

METHODS = {"source": Source, "bn_stats": BnStats, "pseudo_label": PseudoLabel,
           "tent": Tent, "odin_tent": OdinTent, "lame": Lame, "cotta": Cotta,
           "eata": Eata, "sar": Sar, "rotta": Rotta, "sotta": Sotta}
