// Loaded before anything is drawn, so that the page never flashes in the wrong theme.
try {
  const theme = localStorage.getItem("holdfast-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is disabled: use the system's theme.
}
