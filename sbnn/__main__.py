"""python -m sbnn experiment=..., which is what torchrun needs: torchrun --nproc-per-node 2 -m sbnn experiment=..."""

from sbnn.commands.run import main

if __name__ == "__main__":
    main()
