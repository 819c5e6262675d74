/** The look of the page: light or dark as the reader likes it, rows as cards where it is narrow, plain on paper. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1c2127; --faint: #5b6570; --line: #d5dae0; --shade: #f4f6f8; --accent: #0b5cad;
}
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171b; --ink: #e4e8ec; --faint: #9ba6b1; --line: #343b43; --shade: #1d2227; --accent: #7db7f5; }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body {
  margin: 0 auto; padding: 1.5rem; max-width: 78rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: break-word;
}
a { color: var(--accent); }
h1, h2, h3 { line-height: 1.25; margin: 2rem 0 .5rem; }
h1 { margin-top: 0; font-size: 1.9rem; }
h2 { font-size: 1.4rem; padding-top: 1.5rem; border-top: 1px solid var(--line); margin-top: 2.5rem; }
h3 { font-size: 1.1rem; }
h2 a, h3 a { color: inherit; text-decoration: none; }
h2 a:hover, h3 a:hover { text-decoration: underline; }
p { max-width: 46rem; margin: .6rem 0; }
code, pre { font: .875em/1.5 ui-monospace, monospace; }
pre {
  background: var(--shade); border: 1px solid var(--line); border-radius: 4px; padding: .75rem; margin: .4rem 0 1rem;
  overflow-x: auto;
}
figure { margin: 1rem 0; }
figcaption { color: var(--faint); }
nav ul { list-style: none; padding: 0; margin: 1rem 0; columns: 16rem; }
nav li { padding: .15rem 0; }
table { border-collapse: collapse; width: 100%; margin: .75rem 0 1.25rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); }
thead th { color: var(--faint); font-weight: 600; }
tbody th { font-weight: 600; }
td { overflow-wrap: anywhere; }
.faint { color: var(--faint); font-weight: 400; }
@media screen and (max-width: 44rem) {
  body { padding: 1rem; }
  table, tbody, tr, th, td { display: block; }
  thead { display: none; }
  tr { border-bottom: 1px solid var(--line); padding: .5rem 0; }
  th, td { border: 0; padding: .1rem 0; }
  td[data-label]::before { content: attr(data-label) ": "; color: var(--faint); }
}
@media print {
  :root { --paper: #fff; --ink: #000; --faint: #444; --line: #999; --shade: #fff; --accent: #000; }
  body { padding: 0; max-width: none; font-size: 10pt; }
  nav { display: none; }
  pre { white-space: pre-wrap; }
  h2, h3, figcaption { break-after: avoid; }
  tr, figure { break-inside: avoid; }
}
`
