"""The page in a browser: opens it, hovers, zooms, and finds no error on the console.

usage: page_test.py WEFT

Chromium is driven over its pipe of DevTools messages. Exit code 77 where no browser is installed.
"""
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
DEADLINE_SECONDS = 60
SKIPPED = 77

WEFT = None
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)


class Browser:
    """One page of a headless browser. `errors`: what its console and its scripts complained of."""

    def __init__(self, folder):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        # The pipe is expected at descriptors 3 and 4.
        command = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self.process = subprocess.Popen(
            ["sh", "-c", command, "sh", BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
             "--remote-debugging-pipe", "--no-first-run", f"--user-data-dir={folder}/profile",
             "--window-size=1400,900", "about:blank"],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.pending, self.next_id, self.session, self.errors, self.seen = b"", 0, None, [], []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"],
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=DEADLINE_SECONDS)
        os.close(self.write_end)
        os.close(self.read_end)

    def receive(self):
        end = time.monotonic() + DEADLINE_SECONDS
        while b"\0" not in self.pending:
            ready, _, _ = select.select([self.read_end], [], [], max(0, end - time.monotonic()))
            more = os.read(self.read_end, 1 << 16) if ready else b""
            if not more:
                raise RuntimeError("the browser does not answer")
            self.pending += more
        message, self.pending = self.pending.split(b"\0", 1)
        message = json.loads(message)
        method, params = message.get("method"), message.get("params", {})
        self.seen.append(method)
        if method == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"])
        if method == "Runtime.consoleAPICalled" and params["type"] == "error":
            self.errors.append(params["args"])
        if method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"])
        return message

    def call(self, method, **params):
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.next_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path):
        self.errors.clear()
        self.seen.clear()
        self.call("Page.navigate", url=pathlib.Path(path).as_uri())
        while "Page.loadEventFired" not in self.seen:
            self.receive()
        self.settle()

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def settle(self):
        """Until two frames have been drawn."""
        self.value("new Promise(done => requestAnimationFrame(() => "
                   "requestAnimationFrame(() => done(1))))")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
        self.settle()

    def place_of(self, name):
        """Where the middle of an event of a compute row is, in the window."""
        return self.value(
            """(() => { for (const row of rows) {
                 if (!row.compute) continue;
                 for (const e of row.track.events) if (e[1] === %s) {
                   const box = chart.getBoundingClientRect();
                   return [box.left + x_of((e[2] + e[3]) / 2),
                           box.top + row.top + row.tall / 2];
                 } } })()""" % json.dumps(name))

    def tip(self):
        return self.value("tip.style.display === 'block' ? tip.innerText : ''")

    def colour_at(self, x, y):
        return self.value(
            """(() => { const box = chart.getBoundingClientRect(), r = window.devicePixelRatio;
                 return [...chart.getContext("2d").getImageData((%f - box.left) * r,
                         (%f - box.top) * r, 1, 1).data].slice(0, 3); })()""" % (x, y))


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.browser = Browser(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def open(self, name, *arguments):
        path = f"{self.folder.name}/{name}.html"
        subprocess.run([WEFT, *arguments, "--format", "html", "--output", path], check=True,
                       timeout=DEADLINE_SECONDS)
        self.browser.open(path)

    def simulate(self, p, m):
        self.open(f"{p}-{m}", "simulate", "--schedules-method", "dualpipev",
                  "--pipeline-model-parallel-size", str(p), "--num-microbatches", str(m))

    def tearDown(self):
        self.assertEqual(self.browser.errors, [])

    # Rank 1 runs 1F0 from 1 to 2, as soon as 0F0 of rank 0 is done.
    def test_hover_says_what_when_and_after_what(self):
        self.simulate(4, 10)
        self.browser.mouse("mouseMoved", *self.browser.place_of("1F0"))
        tip = self.browser.tip()
        for text in ("1F0", "forward, stage 1, micro-batch 0", "start\t1", "end\t2",
                     "waits for\t0F0 of rank 0, done at 1"):
            self.assertIn(text, tip)

    # Rank 3 is idle until 3, when 2F0 is done.
    def test_hover_over_a_gap_says_what_it_waits_for(self):
        self.simulate(4, 10)
        x, y = self.browser.place_of("3F0")
        left = self.browser.value("chart.getBoundingClientRect().left + x_of(1)")
        self.assertLess(left, x)
        self.browser.mouse("mouseMoved", left, y)
        for text in ("bubble", "start\t0", "end\t3", "then\t3F0", "waits for\t2F0 of rank 2"):
            self.assertIn(text, self.browser.tip())

    def test_memory_has_a_curve(self):
        self.simulate(4, 10)
        x, y = self.browser.value(
            """(() => { const row = rows.find(r => r.memory), box = chart.getBoundingClientRect();
                 return [box.left + x_of(1.5), box.top + row.top + row.tall - 2]; })()""")
        self.browser.mouse("mouseMoved", x, y)
        self.assertIn("2 chunks", self.browser.tip())
        # The pair 0F7;7B3, the first of the steady phase, holds both its micro-batches.
        self.assertIn("peak of this rank\t9 chunks at 17", self.browser.tip())
        self.browser.value("$('memory').click()")
        self.assertFalse(self.browser.value("rows.some(r => r.memory)"))

    def test_buttons_wheel_keys_and_drags_zoom_and_pan(self):
        self.simulate(4, 10)
        browser = self.browser
        span = "to - from"
        whole = browser.value(span)
        browser.value("$('in').click()")
        self.assertAlmostEqual(browser.value(span), whole / 1.6)
        browser.value("$('fit').click()")
        self.assertEqual(browser.value(span), whole)
        x, y = browser.place_of("0F7;7B3")
        at = browser.value("t_of(%f - chart.getBoundingClientRect().left)" % x)
        browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-500, modifiers=2)
        self.assertLess(browser.value(span), whole)
        self.assertAlmostEqual(
            browser.value("t_of(%f - chart.getBoundingClientRect().left)" % x), at, 1)
        before = browser.value("from")
        browser.mouse("mousePressed", x, y, button="left", clickCount=1)
        browser.mouse("mouseMoved", x - 80, y, button="left", buttons=1)
        browser.mouse("mouseReleased", x - 80, y, button="left", clickCount=1)
        self.assertGreater(browser.value("from"), before)
        for key in "dw":
            browser.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        self.assertLess(browser.value(span), whole)
        browser.value("show(0, END)")
        box = browser.value("(b => [b.left, b.top])(axis.getBoundingClientRect())")
        ends = [box[0] + x for x in browser.value("[x_of(10), x_of(20)]")]
        browser.mouse("mousePressed", ends[0], box[1] + 8, button="left", clickCount=1)
        browser.mouse("mouseMoved", ends[1], box[1] + 8, button="left", buttons=1)
        browser.mouse("mouseReleased", ends[1], box[1] + 8, button="left", clickCount=1)
        self.assertAlmostEqual(browser.value("from"), 10, 1)
        self.assertAlmostEqual(browser.value("to"), 20, 1)

    # Sixteen ranks, whole and in part; forward is blue, idle time neither.
    def test_a_large_schedule_is_drawn(self):
        self.simulate(16, 64)
        self.assertEqual(self.browser.value("rows.filter(r => r.compute).length"), 16)
        self.browser.value("show(0, 20)")
        self.browser.settle()
        x, y = self.browser.place_of("0F2")
        red, _, blue = self.browser.colour_at(x - 12, y - 8)
        self.assertGreater(blue, red + 30)
        red, _, blue = self.browser.colour_at(*self.browser.value(
            "(r => (b => [b.left + x_of(1), b.top + r.top + 4])(chart.getBoundingClientRect()))"
            "(rows.filter(r => r.compute)[15])"))
        self.assertLess(abs(blue - red), 30)

    # Two sets of costs, rank by rank: the other one's times stand in the tip.
    def test_two_timelines_over_each_other(self):
        for name, cost in (("a", "1"), ("b", "1.5")):
            timeline = f"{self.folder.name}/{name}.json"
            subprocess.run([WEFT, "simulate", "--schedules-method", "1f1b",
                            "--pipeline-model-parallel-size", "2", "--num-microbatches", "4",
                            "--cost-forward", cost, "--timeline", timeline],
                           check=True, stdout=subprocess.DEVNULL, timeout=DEADLINE_SECONDS)
        self.open("both", "report", "--timeline", f"{self.folder.name}/b.json",
                  "--predicted", f"{self.folder.name}/a.json")
        order = "rows.filter(r => r.compute).map(r => r.rank.name + ' ' + r.rank.timeline.label)"
        self.assertEqual(self.browser.value(order), ["rank 0 measured", "rank 0 predicted",
                                                     "rank 1 measured", "rank 1 predicted"])
        self.browser.mouse("mouseMoved", *self.browser.place_of("0F1"))
        self.assertIn("predicted\t1 to 2", self.browser.tip())
        self.assertIn("difference\t+0.5", self.browser.tip())
        self.assertIn("Largest differences", self.browser.value("document.body.innerText"))
        self.browser.value("$('order').value = 'timeline'; $('order').onchange()")
        self.assertEqual(self.browser.value(order), ["rank 0 measured", "rank 1 measured",
                                                     "rank 0 predicted", "rank 1 predicted"])

    # The steps level has lanes for wires, which can be hidden.
    def test_wires_have_lanes(self):
        self.open("steps", "schedule", "--schedules-method", "1f1b", "--level", "steps",
                  "--pipeline-model-parallel-size", "2", "--num-microbatches", "4",
                  "--num-layers", "4", "--num-experts", "4")
        self.assertTrue(self.browser.value("rows.some(r => r.track.name === 'dispatch')"))
        wait = self.browser.value(
            """(() => { for (const row of rows.filter(r => r.compute))
                 for (const e of row.track.events) if (e[0] === "x") {
                   const box = chart.getBoundingClientRect();
                   return [box.left + x_of((e[2] + e[3]) / 2), box.top + row.top + 5, e[1]]; }
               })()""")
        self.browser.mouse("mouseMoved", *wait[:2])
        self.assertIn("exposed communication", self.browser.tip())
        self.assertIn("waits for\t" + wait[2], self.browser.tip())
        self.browser.value("$('wires').click()")
        self.assertTrue(self.browser.value("rows.every(r => r.compute || r.memory)"))


if __name__ == "__main__":
    if BROWSER is None:
        print("skipped: no browser is installed; the page is tried where one of these is: "
              + ", ".join(BROWSERS) + " (Debian: apt-get install chromium)")
        sys.exit(SKIPPED)
    WEFT = sys.argv.pop(1)
    unittest.main()
