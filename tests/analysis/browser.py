"""Opening a page in headless Chromium, from disk as its reader does."""

import atexit
import csv
import functools
import io
import json
import unittest

from pages import Pages

try:
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver import ActionChains, Keys
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select
    MISSING = ""
except ImportError as error:
    MISSING = f"{error}; apt-get install chromium chromium-driver python3-selenium"


@functools.cache
def start():
    """(the browser of this process, why there is none)."""
    if MISSING:
        return None, MISSING
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    try:
        driver = webdriver.Chrome(options=options)
    except WebDriverException as error:
        return None, f"no Chromium: {error.msg}; apt-get install chromium chromium-driver python3-selenium"
    atexit.register(driver.quit)
    return driver, ""


class Browser(Pages):
    """One browser for all tests; `open` shows a report of folders, `show` any page; both fail where it complains or asks for anything."""

    @classmethod
    def setUpClass(cls):
        cls.driver, missing = start()
        if missing:
            raise unittest.SkipTest(missing)

    def setUp(self):
        super().setUp()
        self.driver.get_log("browser")      # what a test before left

    def open(self, *folders, width=1100, theme="light", words=()):
        self.page(*folders, words=words)
        self.show(self.tmp / "report.html", width, theme)

    def show(self, path, width=1100, theme="light"):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.emulate_theme(theme)
        address = path.as_uri()
        self.driver.get_log("performance")
        self.driver.get(address)
        self.await_frame()
        self.addCleanup(self.assert_calm, address)

    def assert_calm(self, address):
        """Nothing was complained of on the console, and nothing asked for but the file itself."""
        self.assertEqual(self.driver.get_log("browser"), [])
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = {message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"}
        self.assertLessEqual({url for url in asked if not url.startswith(("data:", "blob:"))}, {address})

    def command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def emulate_theme(self, theme):
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        self.await_frame()

    def await_frame(self):
        """Returns when the page knows its media: listeners of media queries are called once a frame, before what waits for that frame."""
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def set_theme(self, theme):
        self.emulate_theme(theme)
        self.await_frame()

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def find_all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def choose(self, name, text):
        Select(self.find(f"#{name}")).select_by_visible_text(text)

    def choices(self, name):
        return [option.text for option in Select(self.find(f"#{name}")).options]

    def press(self, element, *keys):
        """Types characters, or keys by their names, such as ENTER, where an element has the focus."""
        element.send_keys(*(getattr(Keys, key, key) for key in keys))

    def shift_click(self, element):
        ActionChains(self.driver).key_down(Keys.SHIFT).click(element).key_up(Keys.SHIFT).perform()

    def turn_wheel(self, element, pixels, at=(0, 0), with_ctrl=False):
        """Turns it at a place relative to the element's middle."""
        actions = ActionChains(self.driver)
        if with_ctrl:
            actions.key_down(Keys.CONTROL)
        actions.scroll_from_origin(ScrollOrigin.from_element(element, *at), 0, pixels).key_up(Keys.CONTROL).pause(0.3).perform()

    def drag(self, element, pixels):
        ActionChains(self.driver).move_to_element(element).click_and_hold().move_by_offset(pixels, 0).pause(0.1).release().pause(0.3).perform()

    def option(self, chart):
        """What ECharts shows in a chart."""
        return self.script("return JSON.parse(JSON.stringify(syncopate.charts[arguments[0]].chart.getOption()))", chart)

    def series(self, chart):
        """{name: data} of a chart's lines or bars."""
        return {one["name"]: one["data"] for one in self.option(chart)["series"] if one["type"] != "custom"}

    def tip(self, chart, series, place):
        """The text of a tooltip."""
        self.script("syncopate.charts[arguments[0]].chart.dispatchAction({type: 'showTip', seriesIndex: arguments[1], dataIndex: arguments[2]})",
                    chart, series, place)
        return self.script("return [...document.getElementById(arguments[0]).children].at(-1).innerText", chart)

    def rows(self):
        """The texts of the table of all rows."""
        return self.script("return [...document.querySelectorAll('#rows tbody tr')].map(row => [...row.cells].map(cell => cell.innerText))")

    def column(self, name):
        heads = [head.text.split("\n")[0] for head in self.find_all("#rows th button")]
        return [row[heads.index(name)] for row in self.rows()]

    def copied(self):
        """What the button puts on the clipboard, read as CSV."""
        self.command("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        self.find("#table-copy").click()
        text = self.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0], arguments[0])")
        return list(csv.reader(io.StringIO(text)))

    def background(self):
        return self.script("return getComputedStyle(document.body).backgroundColor")

    def print(self):
        """Goes on as if on paper."""
        self.script("dispatchEvent(new Event('beforeprint'))")
        self.command("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.addCleanup(self.command, "Emulation.setEmulatedMedia", media="", features=[])

    def assert_all_is_named(self):
        for control in self.find_all("main select, main input, main button"):
            if control.is_displayed():
                self.assertTrue(control.accessible_name.strip(), control.get_attribute("outerHTML"))
        for chart in self.find_all(".chart"):
            self.assertEqual(chart.get_attribute("role"), "img")
            self.assertGreater(len(chart.get_attribute("aria-label")), 30)

    def assert_fits(self, width):
        self.assertLessEqual(self.script("return document.documentElement.scrollWidth"), width)
        wide = self.script("return [...document.querySelectorAll('main *')].filter(one => one.getBoundingClientRect().right > arguments[0] + 1 && "
                           "!one.closest('.scroll') && !one.closest('.chart')).map(one => one.outerHTML.slice(0, 80))", width)
        self.assertEqual(wide, [])
