"""What `--help` and `--version` answer: the commands one types, then where the keys are. Hydra's is at --hydra-help."""

import sys
import textwrap
from importlib.metadata import version

from sbnn.report.closing import seen_from_here
from sbnn.runs.composition import BUDGETS, CONF, experiments

RUN = """\
sbnn-run trains an experiment, measures it, and writes its tables, figures and claims to results/.

  sbnn-run experiment=simulated_pruning budget=smoke                does everything work? In seconds
  sbnn-run experiment=uci_pruning                                   minutes on a laptop
  sbnn-run experiment=mnist_pruning budget=paper device=cuda        at the paper's sizes
  sbnn-run experiment=simulated_pruning seed=1 trainer.lr=0.005     with other values for some keys
  sbnn-run -m experiment=simulated_pruning prior.pi=0.3,0.5,0.7     a sweep, and a table of its jobs
  sbnn-run experiment=uci_pruning tracking=tensorboard              how training went, for TensorBoard too

The same command goes on where it was stopped. sbnn-report draws again without training; sbnn-reproduce runs all."""
REPORT = """\
sbnn-report draws tables, figures, claims and the page again from what is in results/, without training.

  sbnn-report                                    all experiments that are there
  sbnn-report experiment=uci_pruning             one of them
  sbnn-report results_dir=results/smoke          in another folder"""
REPRODUCE = """\
sbnn-reproduce runs every experiment that is not done yet, several at a time, and writes the page of them all.

  sbnn-reproduce budget=smoke                    do they all work? In minutes
  sbnn-reproduce                                 an hour or two on a laptop
  sbnn-reproduce budget=paper jobs=1             at the paper's sizes, one after the other
  sbnn-reproduce force=true                      also what is done

Keys are those that mean something in every experiment. The same command goes on where it was stopped."""


def answer_questions(words: str) -> None:
    """Print the words if help is asked for, or the version if that is, and stop."""
    asked = set(sys.argv[1:])
    if asked & {"-h", "--help"}:
        print(f"{words}\n\n{keys()}")
        sys.exit()
    if "--version" in asked:
        print("sbnn", version("sbnn"))
        sys.exit()


def keys() -> str:
    """Where to read what can be set, and to what."""
    names = textwrap.fill(", ".join(experiments()), 100, initial_indent=" " * 2, subsequent_indent=" " * 2)
    guide = [f"  {seen_from_here(CONF / 'README.md')}: budgets, recipes and sweeps"]
    return "\n".join(
        [
            "Experiments:",
            names,
            f"Budgets: {', '.join(sorted(BUDGETS, key=['smoke', 'laptop', 'overnight', 'paper'].index))}.",
            "Keys:",
            *(guide if (CONF / "README.md").exists() else []),
            f"  {seen_from_here(CONF / 'config.yaml')}: every key, its default and what it does",
            f"  {seen_from_here(CONF / 'experiment')}: what each experiment sets",
            "  sbnn-run experiment=uci_pruning --cfg job: all of them, as that run would have them",
            "Also: --version; --hydra-help for the options of Hydra, which composes the keys.",
        ]
    )
