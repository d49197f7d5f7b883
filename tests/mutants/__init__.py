"""Mutation testing: would the tests notice if a line were wrong?

    python -m tests.mutants evaluation --count 300 --seed 1 --out mutants.jsonl
    python -m tests.mutants --summary mutants.jsonl

A mutant is the package with one small fault: a comparison, an operator, a constant or a condition is changed. The
mutants are drawn at random from all places of some modules, and the tests of these modules run on each until one
fails. A mutant that no test notices survives. What is in the output is not run again, so a stopped run goes on. If a
module has changed since, its mutants are run again. With `--survivors` those that no test noticed are, too. The last
run counts.

Changes that no figure can show are left out of the draw, and the next ones take their place. One kind is left out by
rule: `strict=True` of `zip` only stops lists of unequal length, as `assert` and `raise` do, which are never changed.
All others were read one by one, after no test had noticed them; `equivalent.yaml` lists them with the reason.

A mutant runs in a fork of a process that has loaded the package and the tests. If the fault is in a function, the fork
gives the loaded function its code. If it is outside of functions, the fork forgets the changed module and all modules
that import it, directly or not, and loads them again, the changed one with its fault. Compiled functions that are
loaded again get a cache of their own, or the compiled code of the sound module would be used.

Only tests that call the changed function run, those of files that import its module first, then the quickest. What
each test calls is found on the sound code. What is called before a test, such as in a fixture, counts for all tests of
its file. All tests run for code outside functions, and for functions that no test calls in its own process. With
`--budget 20` only the first tests run, those that take 20 seconds on the sound code.

Modules with compiled functions are run uncompiled, since compiling a changed loop takes long: with the tests that pass
there in a second or two, and with numpy arrays in place of vectors (`plain_simd.py`). With `--compiled` they are
compiled, and all tests run for a compiled function.
"""
