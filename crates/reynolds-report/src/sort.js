document.querySelectorAll("table.sortable").forEach(table => {
  table.querySelectorAll("th").forEach((head, column) => head.addEventListener("click", () => {
    const body = table.tBodies[0], rows = [...body.rows];
    const down = head.dataset.down !== "1";
    head.dataset.down = down ? "1" : "0";
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
