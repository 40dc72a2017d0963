"""Uploads from a page of another origin, and what Chromium does with hostile files."""

import http.server
import json
import shutil
import threading
from pathlib import Path
from urllib.parse import quote

from selenium import webdriver
from selenium.webdriver.chrome.service import Service as Driver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from service import until

from .proxy import CuttingProxy
from .setting import MEGABYTE, PATIENCE, Setting, expect, png

PAGE = Path(__file__).resolve().parent / "page"
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript"}

#: What a script does that should not run: a page of another origin that embeds it gets a message.
RUN = "document.title = 'ran'; window.ran = 1; parent.postMessage('ran', '*')"
HTML = b"<!DOCTYPE html><html><script>" + RUN.encode() + b"</script></html>"
#: Pages without a policy, which forbid nothing: one that embeds, and one whose script does run.
BARE = {"/bare": b"<!DOCTYPE html><title>bare</title>", "/control": HTML}


class Page:
    """The page of an application, on another origin than the service, with a strict policy."""

    def __init__(self, *origins: str):
        """`origins` is what the page may load from and connect to besides its origin."""
        places = " ".join(origins)
        policy = (f"default-src 'none'; script-src 'self'; style-src 'self'; img-src {places}; connect-src {places}; "
                  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'")

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                path = PAGE / Path(self.path.partition("?")[0]).name
                bare = BARE.get(self.path)
                if not bare and path.suffix not in TYPES:
                    self.send_error(404)
                    return
                body = bare or path.read_bytes()
                self.send_response(200)
                self.send_header("Content-Type", "text/html" if bare else TYPES[path.suffix])
                self.send_header("Content-Length", str(len(body)))
                if not bare:
                    self.send_header("Content-Security-Policy", policy)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.origin = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Browser:
    """A Chromium without a screen."""

    def __init__(self, downloads: Path):
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking",
                         "--disable-component-update", "--window-size=800,600"]:
            options.add_argument(argument)
        downloads.mkdir()
        options.add_experimental_option("prefs", {
            "download.default_directory": str(downloads), "download.prompt_for_download": False})
        self.driver = webdriver.Chrome(options=options, service=Driver(shutil.which("chromedriver")))
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.set_script_timeout(PATIENCE)
        self.driver.set_page_load_timeout(PATIENCE)
        self.downloads = downloads

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def drop(self, file: Path):
        """Drags a file of this machine onto the target of the page, as a user does."""
        target = self.driver.find_element(By.ID, "target")
        box = target.rect
        data = {"items": [], "files": [str(file)], "dragOperationsMask": 1}
        for kind in ["dragEnter", "dragOver", "drop"]:
            self.driver.execute_cdp_cmd("Input.dispatchDragEvent", {
                "type": kind, "x": box["x"] + 5, "y": box["y"] + 5, "data": data})

    def state(self) -> str:
        """What the page says at the end of an upload."""
        def said(driver):
            text = driver.find_element(By.ID, "state").text
            return text if text.startswith(("shown", "failed")) else None
        return WebDriverWait(self.driver, 2 * PATIENCE).until(said)

    def script(self, text: str, *arguments):
        return self.driver.execute_script(text, *arguments)


def upload(setting: Setting, browser: Browser, page: Page, uploads: str, resumable: bool) -> dict:
    """Drops a picture on the page; returns what the page has seen."""
    image = png(1200, 900)
    name = "resumed" if resumable else "dropped"
    options = {"service": setting.base, "uploads": uploads, "token": setting.ann, "resumable": resumable,
               "record": f"note/{name}"}
    # An address that differs only in its fragment would load no page.
    browser.driver.get(f"{page.origin}/upload.html?{name}#{quote(json.dumps(options))}")
    # A page hears of its progress every 50 ms.
    browser.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {
        "offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 8 * MEGABYTE})
    browser.drop(setting.file(f"{name} Kätzchen.png", image))
    expect("what the page shows", browser.state(), "shown 1200 x 900")
    seen = browser.script("return window.seen")
    expect("what its policy has blocked", seen["violations"], [])
    progress = seen["progress"]
    expect("the end of the progress", progress[-1], len(image))
    assert len(set(progress)) > 1, f"the progress was {progress}"
    stored = setting.call("record:fetch", {"ids": [f"note/{name}"]}, setting.ann)[0]["picture"]["$name"]
    expect("the stored picture", setting.download(stored, setting.ann).content, image)
    return seen


def upload_by_drop(setting: Setting, browser: Browser):
    with Page(setting.base) as page:
        upload(setting, browser, page, setting.base, resumable=False)


def upload_through_cuts(setting: Setting, browser: Browser):
    with CuttingProxy(lambda: setting.service.port, MEGABYTE) as proxy:
        uploads = f"http://127.0.0.1:{proxy.port}"
        with Page(setting.base, uploads) as page:
            seen = upload(setting, browser, page, uploads, resumable=True)
        assert seen["cuts"] >= 2 and proxy.cuts >= 2, f"the connections were cut {proxy.cuts} times"


#: A picture that is a page, too, and one that is a script.
GIF_PAGE = b"GIF89a\x01\x00\x01\x00\x00\x00\x00<!--\x00--><html><script>" + RUN.encode() + b"</script></html>"
GIF_SCRIPT = b"GIF89a/*\x01\x00\x01\x00*/=1;" + RUN.encode()
SVG = f"""<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10" onload="{RUN}"><script>{RUN}</script>
<rect width="20" height="10"/></svg>""".encode()

#: Files with scripts: name, declared type, content, and whether Chromium saves it.
HOSTILE = [
    ("polyglot.gif", "image/gif", GIF_PAGE, False),
    ("polyglot.html", "text/html", GIF_PAGE, True),
    ("script.gif", "image/gif", GIF_SCRIPT, False),
    ("script.js", "text/javascript", GIF_SCRIPT, True),
    ("page.html", "text/html", HTML, True),
    ("page.txt", "text/plain", HTML, None),
    ("page.xhtml", "application/xhtml+xml",
     b"<html xmlns='http://www.w3.org/1999/xhtml'><script>" + RUN.encode() + b"</script></html>", True),
    ("picture.svg", "image/svg+xml", SVG, True),
    ("untyped", "application/octet-stream", HTML, True),
]


def open_hostile_files(setting: Setting, browser: Browser):
    with Page(setting.base) as page, Page() as other:
        # The test would notice a script that runs.
        browser.driver.get(f"{other.origin}/control")
        expect("what ran on a page with a script", has_run(browser), True)
        browser.driver.get(f"{page.origin}/bare")
        browser.driver.execute_async_script(EMBED, f"{other.origin}/control", True)
        expect("what ran on a page that embeds it", has_run(browser), True)

        for name, kind, content, is_saved in HOSTILE:
            address = setting.upload(content, name, kind)["$url"]
            # Opened like a page.
            browser.driver.get(f"{page.origin}/bare")
            browser.driver.get(address)
            expect(f"whether {name} ran when it was opened", has_run(browser), False)
            saved = browser.downloads / name
            if is_saved:
                until(PATIENCE, f"{name} to be saved", saved.exists)
                until(PATIENCE, f"{name} to be complete", lambda: saved.read_bytes() == content)
            elif is_saved is False:
                assert not saved.exists(), f"{name} was saved"
            # In a page without a policy: as a frame, an object and a script.
            browser.driver.get(f"{page.origin}/bare")
            browser.driver.execute_async_script(EMBED, address, not is_saved)
            if is_saved:
                # A frame whose file is saved has no event.
                copies = f"{saved.stem} (*{saved.suffix}"
                until(PATIENCE, f"{name} to be saved again", lambda: [*browser.downloads.glob(copies)])
            expect(f"whether {name} ran when it was embedded", has_run(browser), False)
        # An image runs nothing, and is shown.
        svg = setting.upload(SVG, "shown.svg", "image/svg+xml")["$url"]
        browser.driver.get(f"{page.origin}/bare")
        width = browser.driver.execute_async_script("""
            const [address, done] = arguments, image = new Image();
            image.onload = () => done(image.naturalWidth);
            image.onerror = () => done(0);
            image.src = address;
            document.documentElement.append(image);
            """, svg)
        expect("the width of an SVG image", width, 20)
        expect("whether an SVG image ran", has_run(browser), False)


EMBED = """
    const [address, isShown, done] = arguments;
    window.addEventListener("message", () => { window.ran = 1; });
    const places = [["script", "src"], ["iframe", "src"], ["object", "data"], ["embed", "src"]];
    const elements = places.map(([name, place]) => {
        const element = document.createElement(name);
        element[place] = address;
        return element;
    });
    // A script that runs does so before its event; a frame loads something, even if it is nothing.
    const [script, frame] = elements;
    const settled = element => new Promise(resolve => { element.onload = element.onerror = resolve; });
    const all = isShown ? [settled(script), settled(frame)] : [settled(script)];
    document.documentElement.append(...elements);
    Promise.all(all).then(() => done());
    """


def has_run(browser: Browser) -> bool:
    return browser.script("return window.ran === 1") or browser.driver.title == "ran"


def run(setting: Setting):
    with Browser(setting.directory / "downloads") as browser:
        upload_by_drop(setting, browser)
        open_hostile_files(setting, browser)


def run_resumable(setting: Setting):
    with Browser(setting.directory / "other-downloads") as browser:
        upload_through_cuts(setting, browser)
