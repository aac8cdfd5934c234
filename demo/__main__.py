"""`make demo`: one broker, a million orders, three consumers, two accidents."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from demo.broker import DemoBroker
from demo.orders import TOPIC, Ledger, OrderWriter
from demo.proof import Proof, read_back
from demo.readers import GROUP, Readers

ORDERS: Final = 1_000_000
MORE_ORDERS: Final = 200_000  # written while the broker is killed
_PATIENCE_S: Final = 60.0


class Demo:
    def __init__(self, folder: Path, console: Console) -> None:
        self.console = console
        self.broker = DemoBroker(folder)
        self.ledger = Ledger(ORDERS + MORE_ORDERS)

    def run(self) -> Proof:
        self.say("1", "a broker: one process, one directory, nothing else to install")
        took_s = self.broker.start()
        self.console.print(f"   ready in {took_s:.2f} s at {self.broker.address}")
        writer = OrderWriter(self.broker.address, self.ledger)
        self.a_million_orders(writer)
        self.show_group()
        self.a_crash(writer)
        return self.the_proof()

    def say(self, number: str, text: str) -> None:
        self.console.print(f"\n[bold]{number}. {text}[/bold]")

    def bars(self) -> Progress:
        return Progress(
            TextColumn("   {task.description:<16}"),
            BarColumn(bar_width=40),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self.console,
        )

    # --- the acts

    def a_million_orders(self, writer: OrderWriter) -> None:
        self.say(
            "2", f"{ORDERS:,} orders from confluent-kafka; three consumers read, one is killed on the way"
        )
        readers = Readers(self.broker.address, 3)
        is_killed = False
        with self.bars() as bars:
            written, read = (bars.add_task(name, total=ORDERS) for name in ("acknowledged", "read"))

            def on_turn() -> None:
                nonlocal is_killed
                readers.take_reports()
                if not is_killed and readers.distinct > ORDERS * 0.3:
                    is_killed = True
                    readers.kill_one()
                    bars.console.print(
                        "   [yellow]kill -9 of one consumer: the others take its partitions[/]"
                    )
                bars.update(written, completed=self.ledger.acknowledged)
                bars.update(read, completed=readers.distinct)

            began = time.monotonic()
            took_s = writer.write(0, ORDERS, on_turn)
            while readers.distinct < ORDERS and time.monotonic() - began < _PATIENCE_S:
                readers.take_reports(0.1)
                on_turn()
        readers.stop()
        self.show_figures(readers, took_s)
        if readers.distinct < ORDERS:
            raise SystemExit(f"only {readers.distinct:,} orders were read")

    def show_figures(self, readers: Readers, took_s: float) -> None:
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column(style="bold")
        table.add_column(justify="right")
        for title, figure in (
            ("   acknowledged (acks=all)", f"{ORDERS / took_s:,.0f} orders/s"),
            ("   written to read, p50 / p99", f"{readers.delay_ms(0.5):,} / {readers.delay_ms(0.99):,} ms"),
            ("   read", f"{readers.distinct:,} orders"),
            ("   read again after the kill", f"{readers.repeated:,} (not committed yet: at least once)"),
            ("   memory of the broker", f"{self.broker.resident_mb:.0f} MB"),
        ):
            table.add_row(title, figure)
        self.console.print(table)

    def show_group(self) -> None:
        self.say("3", f"the group's lag: mainstem group describe {GROUP}")
        command = [sys.executable, "-m", "mainstem.cli.main", "group", "describe", GROUP]
        answer = subprocess.run(
            [*command, "--bootstrap", self.broker.address], capture_output=True, text=True, timeout=30
        )
        for line in (answer.stdout or answer.stderr).splitlines():
            self.console.print(f"   {line}", markup=False, highlight=False)

    def a_crash(self, writer: OrderWriter) -> None:
        self.say("4", f"{MORE_ORDERS:,} more orders, and kill -9 of the broker in the middle")
        restarted: list[float] = []

        def crash_and_restart() -> None:
            self.broker.kill()
            restarted.append(self.broker.start())

        accident = threading.Thread(target=crash_and_restart)
        with self.bars() as bars:
            written = bars.add_task("acknowledged", total=MORE_ORDERS)

            def on_turn() -> None:
                done = self.ledger.acknowledged - ORDERS
                bars.update(written, completed=done)
                if done > MORE_ORDERS * 0.2 and not accident.ident:
                    bars.console.print("   [yellow]kill -9 of the broker; it is started again at once[/]")
                    accident.start()

            writer.write(ORDERS, MORE_ORDERS, on_turn)
        accident.join()
        self.console.print(
            f"   the broker was back {restarted[0]:.2f} s after its death; the producer went on"
        )

    def the_proof(self) -> Proof:
        self.say("5", "everything is read back and compared with what was acknowledged")
        with self.bars() as bars:
            task = bars.add_task("compared", total=ORDERS + MORE_ORDERS)
            proof = read_back(
                self.broker.address, self.ledger, lambda count: bars.update(task, completed=count)
            )
        acknowledged = self.ledger.acknowledged
        if proof.holds and not self.ledger.failed:
            self.console.print(
                f"   [green]{acknowledged:,} orders acknowledged, all of them there, at the offset that was "
                "promised, none twice[/]"
            )
        else:
            self.console.print(
                f"   [red]{acknowledged:,} acknowledged, {self.ledger.failed:,} given up, "
                f"{proof.missing:,} missing, {proof.repeated:,} twice[/]"
            )
        return proof


def what_next(console: Console) -> None:
    console.print("\n[bold]Try next[/bold]")
    for line in (
        ".venv/bin/mainstem start                    # a broker on 127.0.0.1:9092",
        ".venv/bin/mainstem topic create orders --partitions 6",
        "seq 1000 | .venv/bin/mainstem produce orders",
        ".venv/bin/mainstem consume orders --from earliest --json",
        "curl http://127.0.0.1:9640/metrics            # or open it in a browser",
    ):
        console.print(f"   {line}", markup=False, highlight=False)


def main() -> int:
    console = Console(highlight=False)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mainstem-demo-") as folder:
        demo = Demo(Path(folder), console)
        try:
            proof = demo.run()
        finally:
            demo.broker.stop()
    what_next(console)
    console.print(
        f"\n   topic {TOPIC}, {ORDERS + MORE_ORDERS:,} orders, {time.monotonic() - began:.0f} s in all"
    )
    return 0 if proof.holds and not demo.ledger.failed else 1


if __name__ == "__main__":
    sys.exit(main())
