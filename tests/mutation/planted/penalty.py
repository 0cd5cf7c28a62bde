"""Errors in h, its gradient and Hessian product, the threshold, beta, and Algorithm 1 around them."""

from __future__ import annotations

from . import PENALTY, errors_in

_TESTS = "tests/penalty/test_cdf.py"
_GAPS = "tests/mutation/test_gaps.py"
_p = errors_in("genorth/penalty/cdf.py", PENALTY, _TESTS)
_t = errors_in("genorth/penalty/threshold.py", "tests/penalty/test_threshold.py")
_b = errors_in("genorth/penalty/beta.py", _GAPS)
_m = errors_in("genorth/penalty/minimize.py", "tests/penalty/test_minimize.py")
_o = errors_in("genorth/penalty/objective.py", "tests/penalty/test_minimize.py")

_GRADIENT = "grad h = G W^T + P Phi(beta C - R^T/2), R = X^T G"
_HESSIAN = "hess h[Z] = dG W^T + G dW^T + phi(Z) M + P Phi(beta dS - dR^T/2)"

VALUE = [
    _p("penalty-half", "factor", "ConstraintDissolving.value_at", "0.5 * self.beta", "self.beta",
       "h = f(A(X)) + beta/2 |C|^2"),
    _p("penalty-sign", "sign", "ConstraintDissolving.value_at", "point.cost + 0.5", "point.cost - 0.5",
       "h = f(A(X)) + beta/2 |C|^2"),
    _p("penalty-term", "term", "ConstraintDissolving.value_at", " + 0.5 * self.beta * point.violation", "",
       "h = f(A(X)) + beta/2 |C|^2"),
    _p("penalty-feasibility", "factor", "ConstraintDissolving.feasibility", "violation ** 0.5", "violation",
       "|C(X)|, not its square", "tests/penalty/test_cdf.py::test_value_is_the_formula"),
    _p("penalty-gram-transposed", "transpose", "ConstraintDissolving._products", "ct(X) @ P", "ct(P) @ X",
       "C(X) = X^T phi(X) - I"),
    _p("penalty-c-sign", "sign", "ConstraintDissolving._products", "C = C - eye", "C = C + eye",
       "C(X) = X^T phi(X) - I"),
    _p("penalty-w-sign", "sign", "ConstraintDissolving._products", "eye - 0.5 * C", "eye + 0.5 * C", "W^T = I - C/2"),
    _p("penalty-w-half", "factor", "ConstraintDissolving._products", "eye - 0.5 * C", "eye - C", "W^T = I - C/2"),
    _p("penalty-y-transpose", "transpose", "ConstraintDissolving._products", "X @ _transposed(Wt)", "X @ Wt",
       "A(X) = X W"),
    _p("penalty-y-is-x", "term", "ConstraintDissolving._products", "X @ _transposed(Wt)", "X", "f is taken at A(X)"),
]  # fmt: skip

GRADIENT = [
    _p("gradient-r-sign", "sign", "ConstraintDissolving._assemble", "R *= -0.5", "R *= 0.5", _GRADIENT),
    _p("gradient-r-factor", "factor", "ConstraintDissolving._assemble", "R *= -0.5", "R *= -1.0", _GRADIENT),
    _p("gradient-r-transpose", "transpose", "ConstraintDissolving._assemble", "T += ct(R)", "T += R", _GRADIENT),
    _p("gradient-r-term", "term", "ConstraintDissolving._assemble", "        T += ct(R)\n", "", _GRADIENT),
    _p("gradient-c-transpose", "transpose", "ConstraintDissolving._assemble", "self.beta * point.C",
       "self.beta * ct(point.C)", _GRADIENT),
    _p("gradient-c-half", "factor", "ConstraintDissolving._assemble", "self.beta * point.C",
       "0.5 * self.beta * point.C", _GRADIENT),
    _p("gradient-beta-term", "term", "ConstraintDissolving._assemble", "self.beta * point.C", "0 * point.C", _GRADIENT),
    _p("gradient-psi", "psi", "ConstraintDissolving._assemble", "self.manifold.symmetrize(T)", "T + ct(T)",
       "Phi(T) = T^T + psi(T)"),
    _p("gradient-four-c", "psi", "ConstraintDissolving._assemble", "self.manifold.symmetrize(T)", "2 * ct(T)",
       "Phi(T) = 2 T^T holds for C where psi o psi = id, not for R"),
    _p("gradient-phi", "psi", "ConstraintDissolving._assemble", "point.P @ point.M", "point.X @ point.M", _GRADIENT),
    _p("gradient-w-transpose", "transpose", "ConstraintDissolving._assemble", "point.G @ point.Wt",
       "point.G @ ct(point.Wt)", _GRADIENT),
    _p("gradient-w-term", "term", "ConstraintDissolving._assemble", "point.G @ point.Wt", "point.G.copy()", _GRADIENT),
]  # fmt: skip

HESSIAN = [
    _p("hessian-ds-phi", "psi", "ConstraintDissolving.hessian_product", "Phi(ct(P) @ Z)", "Phi(ct(X) @ Z)",
       "dS = Phi(phi(X)^T Z)"),
    _p("hessian-ds-term", "term", "ConstraintDissolving.hessian_product", "Phi(ct(P) @ Z)", "ct(Z) @ P",
       "dS = Z^T phi(X) + X^T phi(Z)"),
    _p("hessian-dw-sign", "sign", "ConstraintDissolving.hessian_product", "-0.5 * dS", "0.5 * dS", "dW^T = -dS/2"),
    _p("hessian-dw-factor", "factor", "ConstraintDissolving.hessian_product", "-0.5 * dS", "-1.0 * dS", "dW^T = -dS/2"),
    _p("hessian-dy-term", "term", "ConstraintDissolving.hessian_product",
       "        dY += X @ _transposed(dWt)\n", "", "dY = Z W + X dW"),
    _p("hessian-dy-w", "transpose", "ConstraintDissolving.hessian_product", "Z @ _transposed(point.Wt)",
       "Z @ point.Wt", "dY = Z W + X dW"),
    _p("hessian-dy-dw", "transpose", "ConstraintDissolving.hessian_product", "X @ _transposed(dWt)", "X @ dWt",
       "dY = Z W + X dW"),
    _p("hessian-direction", "term", "ConstraintDissolving.hessian_product", "euclidean_hessian(point.Y, dY)",
       "euclidean_hessian(point.Y, Z)", "dG = hess f(Y)[dY]"),
    _p("hessian-at-x", "term", "ConstraintDissolving.hessian_product", "euclidean_hessian(point.Y, dY)",
       "euclidean_hessian(X, dY)", "dG = hess f(Y)[dY], Y = A(X)"),
    _p("hessian-dr-z", "term", "ConstraintDissolving.hessian_product", "ct(Z) @ G + ct(X) @ dG", "ct(X) @ dG",
       "dR = Z^T G + X^T dG"),
    _p("hessian-dr-x", "term", "ConstraintDissolving.hessian_product", "ct(Z) @ G + ct(X) @ dG", "ct(Z) @ G",
       "dR = Z^T G + X^T dG"),
    _p("hessian-g-dw", "term", "ConstraintDissolving.hessian_product", "        result += G @ dWt\n", "", _HESSIAN),
    _p("hessian-g-dw-transpose", "transpose", "ConstraintDissolving.hessian_product", "G @ dWt", "G @ ct(dWt)",
       _HESSIAN),
    _p("hessian-phi-z", "psi", "ConstraintDissolving.hessian_product", "self.manifold.phi(Z) @ point.M",
       "Z @ point.M", _HESSIAN),
    _p("hessian-m-term", "term", "ConstraintDissolving.hessian_product",
       "        result += self.manifold.phi(Z) @ point.M\n", "", _HESSIAN),
    _p("hessian-dr-transpose", "transpose", "ConstraintDissolving.hessian_product", "0.5 * ct(dR)", "0.5 * dR",
       _HESSIAN),
    _p("hessian-dr-sign", "sign", "ConstraintDissolving.hessian_product", "dS - 0.5 * ct(dR)", "dS + 0.5 * ct(dR)",
       _HESSIAN),
    _p("hessian-beta-factor", "factor", "ConstraintDissolving.hessian_product", "self.beta * dS", "2 * self.beta * dS",
       _HESSIAN),
    _p("hessian-beta-term", "term", "ConstraintDissolving.hessian_product", "self.beta * dS - 0.5", "-0.5", _HESSIAN),
]  # fmt: skip

_FORM = "<Y, L(Y)>, L(Y) = e/2 (B Y Q + Q Y B), B = Theta Q, in the metric tr(Y^T K Y)"
THRESHOLD = [
    _t("threshold-factor", "factor", "multiplier_threshold", "return 0.75 *", "return 0.5 *", "beta* = 3/4 max (F8)"),
    _t("threshold-negative", "term", "multiplier_threshold",
       "max(0.0, largest_form(manifold, np.asarray(Theta)))", "largest_form(manifold, np.asarray(Theta))",
       "beta* is at least zero"),
    _t("threshold-least", "sign", "largest_form", "(Theta + ct(Theta)) / 2).max()", "(Theta + ct(Theta)) / 2).min()",
       "the largest eigenvalue of Theta counts"),
    _t("threshold-off-manifold", "term", "exactness_threshold", "manifold.restore(np.asarray(X))", "X",
       "a point off M is restored first"),
    _t("threshold-blocks", "term", "largest_form", "return max(_over", "return min(_over", "the largest of all blocks",
       _GAPS),
    _t("threshold-basis-transpose", "transpose", "_over_basis", "ct(basis @ Theta)", "basis @ Theta",
       "Re tr(T S Theta) = <T, (S Theta)^T>"),
    _t("threshold-basis-conj", "transpose", "_over_basis", "images.conj().T", "images.T", "<T, .> conjugates"),
    _t("threshold-b", "psi", "_over_symmetric", "(Theta @ Q)", "Theta", _FORM),
    _t("threshold-q-basis", "term", "_over_symmetric", "ct(U) @ Q @ U, ", "Q, ", _FORM),
    _t("threshold-metric", "factor", "_over_symmetric", "(k[:, None] + k[None, :]) / 2)", "(k[:, None] + k[None, :]))",
       _FORM),
    _t("threshold-metric-root", "factor", "_over_symmetric", "1 / np.sqrt(", "1 / (", _FORM),
    _t("threshold-form-sign", "sign", "_over_symmetric", "e * L + ct(L)", "L + ct(L)", _FORM),
    _t("threshold-symmetry-sign", "sign", "_over_symmetric", "Z + e * ct(Z)", "Z + ct(Z)", "Y^T = e Y"),
    _t("threshold-half-scaled", "factor", "_over_symmetric", "B @ (scale * Z) @ Q", "B @ Z @ Q", _FORM),
    _t("threshold-magnitude", "sign", "_largest_eigenvalue", 'which="LA"', 'which="SA"',
       "the largest eigenvalue, not the smallest"),
]  # fmt: skip

_BETA = "beta = w beta*(X) + c |X|^2/(16 p)"
BETA = [
    _b("beta-curvature-term", "term", "_curvature", "H - problem.manifold.phi(d) @ Theta", "H",
       "c is the curvature along M, which has the term of Theta"),
    _b("beta-curvature-sign", "sign", "_curvature", "H - problem.manifold.phi(d) @ Theta",
       "H + problem.manifold.phi(d) @ Theta", "hess f = P(H - phi(d) Theta)"),
    _b("beta-curvature-phi", "psi", "_curvature", "problem.manifold.phi(d) @ Theta", "d @ Theta",
       "hess f = P(H - phi(d) Theta)"),
    _b("beta-difference", "term", "_curvature", "evaluate_gradient(X + t * d) - G) / t",
       "evaluate_gradient(X + t * d)) / t", "a difference of gradients stands for the Hessian"),
    _b("beta-gradient-phi", "psi", "initial_beta", "G - space.P @ Theta", "G - X @ Theta", "grad f = G - phi(X) Theta"),
    _b("beta-size", "factor", "initial_beta", "float(norm(X)) ** 2", "float(norm(X))", _BETA),
    _b("beta-columns", "factor", "initial_beta", " / columns", "", _BETA),
    _b("beta-weight", "sign", "initial_beta", "(_NEAR - (_NEAR - _FAR) * distance)",
       "(_NEAR + (_NEAR - _FAR) * distance)", "the weight falls from 1.2 to 0.4"),
]  # fmt: skip

MINIMIZE = [
    _m("minimize-not-restored", "term", "_Run._restored", "manifold.restore(last, self.feasibility_tol)", "last",
       "steps 3 to 5 of Algorithm 1: x is on M"),
    _m("minimize-euclidean-norm", "term", "_Run._measured", "norm(manifold.project(x, G))", "norm(G)",
       "the gradient norm is the Riemannian one"),
    _m("minimize-exact", "sign", "_Run._again", "self.beta >= self.threshold", "self.beta <= self.threshold",
       "h is exact for beta above the threshold"),
    _m("minimize-warning", "sign", "_Run._message", "self.beta < self.threshold", "self.beta > self.threshold",
       "a beta below the threshold is reported"),
    _m("minimize-never-raised", "term", "_Run._next_beta", "max(raised_beta(self.beta, 1), _MARGIN * self.threshold)",
       "self.beta", "a beta that proved too small is raised", _GAPS),
    _o("objective-midpoint", "factor", "Objective._repaired", "0.5 * float(np.dot(g + g0", "float(np.dot(g + g0",
       "h(v) - h(v0) = (g + g0)/2 . (v - v0) + O(3)", _GAPS),
    _o("objective-midpoint-sign", "sign", "Objective._repaired", "g + g0, v - v0", "g + g0, v0 - v",
       "h(v) - h(v0) = (g + g0)/2 . (v - v0) + O(3)", _GAPS),
    _o("objective-midpoint-term", "term", "Objective._repaired", "0.5 * float(np.dot(g + g0, v - v0))",
       "float(np.dot(g, v - v0))", "h(v) - h(v0) = (g + g0)/2 . (v - v0) + O(3)", _GAPS),
    _o("objective-turn-back", "sign", "Objective._turn_back", "d * (slope / size)", "-d * (slope / size)",
       "beyond the limit the slope is upward", _GAPS),
]  # fmt: skip

MUTANTS = [*VALUE, *GRADIENT, *HESSIAN, *THRESHOLD, *BETA, *MINIMIZE]
