/** Says above what is wider than the page that it can be scrolled, as long as there is something out of sight. */
export function tellWide(): void {
  for (const box of document.querySelectorAll<HTMLElement>('.scroll')) {
    const line = document.createElement('p')
    line.className = 'more'
    line.textContent = 'Wider than the page: scroll the table sideways →'
    // The table is a region with a name already; whoever hears the page is not told of its edge.
    line.setAttribute('aria-hidden', 'true')
    box.before(line)
    const look = (): void => {
      line.hidden = box.scrollWidth <= box.clientWidth + 1
    }
    new ResizeObserver(look).observe(box)
    look()
  }
}
