document.querySelectorAll("table.sortable").forEach(table => {
  const heads = [...table.querySelectorAll("th")];
  heads.forEach((head, column) => {
    head.tabIndex = 0;
    head.addEventListener("keydown", event => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), head.click()));
  });
  heads.forEach((head, column) => head.addEventListener("click", () => {
    const body = table.tBodies[0], rows = [...body.rows];
    const down = head.dataset.down !== "1";
    head.dataset.down = down ? "1" : "0";
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = row => row.cells[column].dataset.key ?? row.cells[column].textContent;
    rows.sort((a, b) => {
      const [x, y] = [key(a), key(b)], [m, n] = [Number(x), Number(y)];
      if (x === "" || y === "") return (x === "") - (y === "");
      const order = !isNaN(m) && !isNaN(n) ? m - n : x.localeCompare(y);
      return down ? -order : order;
    });
    rows.forEach(row => body.append(row));
  }));
});
document.body.dataset.ready = "1";
