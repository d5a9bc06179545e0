"""`sbnn-report`: draw tables, figures and claims again from rows.csv, of one experiment or of all that are there."""

import hydra
from omegaconf import DictConfig

from sbnn.commands.arguments import check_arguments
from sbnn.commands.help import REPORT, answer_questions
from sbnn.commands.run import one_sentence_errors, output_folder
from sbnn.commands.sweep import table_at_the_end
from sbnn.report.publish import republish, republish_all
from sbnn.runs.composition import CONF, settings_of


@hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")
def report(cfg: DictConfig) -> None:
    with one_sentence_errors():
        if cfg.get("name") is None:
            republish_all(output_folder())
        else:
            settings_of(cfg)
            republish(output_folder())


def main() -> None:
    answer_questions(REPORT)
    check_arguments(must_exist=True)
    with table_at_the_end():
        report()
