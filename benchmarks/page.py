"""The report's page at the paper's size in headless Chromium: how soon it is there, and how soon it answers.

python benchmarks/page.py          prints the table of docs/performance.md; an idle machine is needed for a true one

Every task has 28 members with the paper's networks. An answer is what an input costs the page's main thread: its
handler, style and layout. Beside it, how long a frame with such an input took (60 Hz: 16.7 ms if none is missed).
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from dico.experiments import preset
from dico.runs import Run
from dico.tasks import TASKS
from dico.training.session import train
from dico.viz.report import write_report

LEVELS = ("0", "0.1", "0.3", "0.5", "1", "2", "free")
SIZES = {"envs": 4, "frames_per_batch": 40, "epochs": 1, "minibatch": 20, "updates": 2, "batch": 8, "replay": 100}
WINDOW = {"width": 1280, "height": 900}

ANSWERS = """async (times) => {
    const frame = () => new Promise(requestAnimationFrame);
    const timed = async (act) => {
        const [answers, frames] = [[], []];
        let last = await frame();
        for (let k = 0; k < times; k++) {
            const start = performance.now();
            act(k);
            document.body.getBoundingClientRect();
            answers.push(performance.now() - start);
            const now = await frame();
            frames.push(now - last);
            last = now;
        }
        return { answers, frames };
    };
    const found = {};
    for (const handle of document.querySelectorAll("[data-handle]")) {
        const name = handle.dataset.handle;
        if (!name.endsWith(" 0")) continue;
        found[name.slice(0, -2)] = await timed((k) => handle.dispatchEvent(
            new KeyboardEvent("keydown", { key: k % 20 < 10 ? "ArrowRight" : "ArrowLeft", bubbles: true })));
    }
    const slider = document.querySelector(".desired-slider");
    found.slider = await timed((k) => {
        slider.value = String((Number(slider.max) * ((7 * k) % 40)) / 40);
        slider.dispatchEvent(new Event("input"));
    });
    return found;
}"""


def at_paper_size(task: str, folder: Path) -> Run:
    """28 members with the paper's networks, hardly trained: the page's work does not depend on what they learned."""
    sizes = {**SIZES, "hidden": (256, 256), "frames": 40}
    return train(preset("quick", task, snd=LEVELS, seeds=4, **sizes), folder)


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def measure(browser: Browser, page_file: Path, times: int) -> tuple[float, dict[str, dict[str, list[float]]]]:
    """Milliseconds until the page is loaded; those of each answer and frame, for each thing that can be moved."""
    page = browser.new_page(viewport=WINDOW, reduced_motion="reduce")  # type: ignore[arg-type]
    page.goto(page_file.resolve().as_uri())
    page.wait_for_function("document.querySelector('.plot svg') !== null")
    loaded = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    page.locator("#live").scroll_into_view_if_needed()
    page.wait_for_timeout(3000)
    found = page.evaluate(ANSWERS, times)
    page.close()
    return loaded, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=sorted(TASKS), default=list(TASKS))
    parser.add_argument("--times", type=int, default=200, help="inputs for each thing that can be moved")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    print("| task | MB | loaded | moved | answer, median | 95 of 100 | longest | frame, 95 of 100 |")
    print("|---|---|---|---|---|---|---|---|")
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=chromium, args=["--headless", "--no-sandbox", "--disable-gpu"])
        for task in options.tasks:
            page_file = write_report(at_paper_size(task, Path(folder) / task))
            loaded, found = measure(browser, page_file, options.times)
            size = page_file.stat().st_size / 1e6
            for moved, took in found.items():
                answers = [f"{quantile(took['answers'], share):.1f} ms" for share in (0.5, 0.95, 1)]
                frames = f"{quantile(took['frames'], 0.95):.1f} ms"
                print(
                    "|", " | ".join([task, f"{size:.2f}", f"{loaded:.0f} ms", moved, *answers, frames]), "|", flush=True
                )
        browser.close()


if __name__ == "__main__":
    main()
