// Chromium calls its language en-US@posix where the system has none, which Intl refuses, and with it uPlot, which asks
// for it as soon as it is read. This file is read before.
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en-US" });
}
