"""What to cite: BibTeX entries by key."""

from __future__ import annotations

from collections.abc import Iterable

_ENTRIES = {
    "zhang-improved": r"""@unpublished{zhang-improved,
  author = {Zhang, Yongshen and Liu, Xin and Xiao, Nachuan and Tang, Chunming},
  title = {Improved Penalty Function Approaches for Optimization Problems with General Orthogonality},
  note = {Manuscript}
}""",
    "xiao2024dissolving": r"""@article{xiao2024dissolving,
  author = {Xiao, Nachuan and Liu, Xin and Toh, Kim-Chuan},
  title = {Dissolving Constraints for {Riemannian} Optimization},
  journal = {Mathematics of Operations Research},
  volume = {49}, number = {1}, pages = {366--397}, year = {2024},
  doi = {10.1287/moor.2023.1360}
}""",
    "barzilai1988two": r"""@article{barzilai1988two,
  author = {Barzilai, Jonathan and Borwein, Jonathan M.},
  title = {Two-Point Step Size Gradient Methods},
  journal = {IMA Journal of Numerical Analysis},
  volume = {8}, number = {1}, pages = {141--148}, year = {1988},
  doi = {10.1093/imanum/8.1.141}
}""",
    "zhang2004nonmonotone": r"""@article{zhang2004nonmonotone,
  author = {Zhang, Hongchao and Hager, William W.},
  title = {A Nonmonotone Line Search Technique and Its Application to Unconstrained Optimization},
  journal = {SIAM Journal on Optimization},
  volume = {14}, number = {4}, pages = {1043--1056}, year = {2004},
  doi = {10.1137/S1052623403428208}
}""",
    "polak1969note": r"""@article{polak1969note,
  author = {Polak, E. and Ribi{\`e}re, G.},
  title = {Note sur la convergence de m{\'e}thodes de directions conjugu{\'e}es},
  journal = {Revue fran{\c{c}}aise d'informatique et de recherche op{\'e}rationnelle. S{\'e}rie rouge},
  volume = {3}, number = {R1}, pages = {35--43}, year = {1969}
}""",
    "liu1989limited": r"""@article{liu1989limited,
  author = {Liu, Dong C. and Nocedal, Jorge},
  title = {On the Limited Memory {BFGS} Method for Large Scale Optimization},
  journal = {Mathematical Programming},
  volume = {45}, pages = {503--528}, year = {1989},
  doi = {10.1007/BF01589116}
}""",
    "steihaug1983conjugate": r"""@article{steihaug1983conjugate,
  author = {Steihaug, Trond},
  title = {The Conjugate Gradient Method and Trust Regions in Large Scale Optimization},
  journal = {SIAM Journal on Numerical Analysis},
  volume = {20}, number = {3}, pages = {626--637}, year = {1983},
  doi = {10.1137/0720042}
}""",
    "absil2008optimization": r"""@book{absil2008optimization,
  author = {Absil, P.-A. and Mahony, R. and Sepulchre, R.},
  title = {Optimization Algorithms on Matrix Manifolds},
  publisher = {Princeton University Press}, year = {2008}
}""",
    "wen2013feasible": r"""@article{wen2013feasible,
  author = {Wen, Zaiwen and Yin, Wotao},
  title = {A Feasible Method for Optimization with Orthogonality Constraints},
  journal = {Mathematical Programming},
  volume = {142}, pages = {397--434}, year = {2013},
  doi = {10.1007/s10107-012-0584-1}
}""",
    "iannazzo2018riemannian": r"""@article{iannazzo2018riemannian,
  author = {Iannazzo, Bruno and Porcelli, Margherita},
  title = {The {Riemannian} {Barzilai--Borwein} Method with Nonmonotone Line Search and the Matrix Geometric Mean
           Computation},
  journal = {IMA Journal of Numerical Analysis},
  volume = {38}, number = {1}, pages = {495--517}, year = {2018},
  doi = {10.1093/imanum/drx015}
}""",
    "sato2022riemannian": r"""@article{sato2022riemannian,
  author = {Sato, Hiroyuki},
  title = {{Riemannian} Conjugate Gradient Methods: General Framework and Specific Algorithms with Convergence
           Analyses},
  journal = {SIAM Journal on Optimization},
  volume = {32}, number = {4}, pages = {2690--2717}, year = {2022},
  doi = {10.1137/21M1464178}
}""",
    "huang2015broyden": r"""@article{huang2015broyden,
  author = {Huang, Wen and Gallivan, K. A. and Absil, P.-A.},
  title = {A {Broyden} Class of Quasi-{Newton} Methods for {Riemannian} Optimization},
  journal = {SIAM Journal on Optimization},
  volume = {25}, number = {3}, pages = {1660--1685}, year = {2015},
  doi = {10.1137/140955483}
}""",
    "absil2007trust": r"""@article{absil2007trust,
  author = {Absil, P.-A. and Baker, C. G. and Gallivan, K. A.},
  title = {Trust-Region Methods on {Riemannian} Manifolds},
  journal = {Foundations of Computational Mathematics},
  volume = {7}, pages = {303--330}, year = {2007},
  doi = {10.1007/s10208-005-0179-9}
}""",
    "gao2021riemannian": r"""@article{gao2021riemannian,
  author = {Gao, Bin and Son, Nguyen Thanh and Absil, P.-A. and Stykel, Tatjana},
  title = {{Riemannian} Optimization on the Symplectic {Stiefel} Manifold},
  journal = {SIAM Journal on Optimization},
  volume = {31}, number = {2}, pages = {1546--1575}, year = {2021},
  doi = {10.1137/20M1348522}
}""",
    "townsend2016pymanopt": r"""@article{townsend2016pymanopt,
  author = {Townsend, James and Koep, Niklas and Weichwald, Sebastian},
  title = {Pymanopt: A {Python} Toolbox for Optimization on Manifolds using Automatic Differentiation},
  journal = {Journal of Machine Learning Research},
  volume = {17}, number = {137}, pages = {1--5}, year = {2016}
}""",
    "xiao2022cdopt": r"""@misc{xiao2022cdopt,
  author = {Xiao, Nachuan and Hu, Xiaoyin and Liu, Xin and Toh, Kim-Chuan},
  title = {{CDOpt}: A {Python} Package for a Class of {Riemannian} Optimization},
  year = {2022}, eprint = {2212.02698}, archivePrefix = {arXiv}
}""",
    "virtanen2020scipy": r"""@article{virtanen2020scipy,
  author = {Virtanen, Pauli and Gommers, Ralf and Oliphant, Travis E. and others},
  title = {{SciPy} 1.0: Fundamental Algorithms for Scientific Computing in {Python}},
  journal = {Nature Methods},
  volume = {17}, pages = {261--272}, year = {2020},
  doi = {10.1038/s41592-019-0686-2}
}""",
    "harris2020array": r"""@article{harris2020array,
  author = {Harris, Charles R. and Millman, K. Jarrod and van der Walt, St{\'e}fan J. and others},
  title = {Array Programming with {NumPy}},
  journal = {Nature},
  volume = {585}, pages = {357--362}, year = {2020},
  doi = {10.1038/s41586-020-2649-2}
}""",
    "dolan2002benchmarking": r"""@article{dolan2002benchmarking,
  author = {Dolan, Elizabeth D. and Mor{\'e}, Jorge J.},
  title = {Benchmarking Optimization Software with Performance Profiles},
  journal = {Mathematical Programming},
  volume = {91}, pages = {201--213}, year = {2002},
  doi = {10.1007/s101070100263}
}""",
}

#: What every comparison stands on: arrays, and the profiles of the report.
_ALWAYS = ("harris2020array", "dolan2002benchmarking")


def bibtex(keys: Iterable[str]) -> str:
    """Return the BibTeX entries of these keys, and of what every comparison uses, each once.

    Args:
        keys: Keys of the bibliography, as in `Solver.cites`; unknown ones are left out.
    """
    used = dict.fromkeys([*keys, *_ALWAYS])
    return "\n\n".join(_ENTRIES[key] for key in used if key in _ENTRIES) + "\n"
