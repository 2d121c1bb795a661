import type { ComponentChildren } from "preact";

interface ChartFigureProps {
  /** The chart's message in one sentence. */
  readonly summary: string;
  readonly note?: ComponentChildren;
  readonly headings: readonly string[];
  /** The same facts as a table, for people who prefer to read. */
  readonly rows: readonly (readonly ComponentChildren[])[];
  readonly children: ComponentChildren;
}

export function ChartFigure({ summary, note, headings, rows, children }: ChartFigureProps) {
  return (
    <figure class="chart">
      {children}
      <figcaption>
        <span class="unsighted">{summary}</span>
        {note !== undefined && <span class="muted">{note}</span>}
        <details class="chart-table">
          <summary>As a table</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard. */}
          <div class="chart-table-scroll" tabIndex={0} role="region" aria-label={summary}>
            <table>
              <thead>
                <tr>
                  {headings.map((heading) => (
                    <th key={heading} scope="col">
                      {heading}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows.map((row, index) => (
                  <tr key={index}>
                    {row.map((cell, column) => (
                      <td key={headings[column]}>{cell}</td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </details>
      </figcaption>
    </figure>
  );
}
