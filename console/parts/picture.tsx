import * as Plot from "@observablehq/plot";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Answer } from "../server.ts";
import { spaced, Table, Time, timeText } from "./text.tsx";

type Account = Answer<"account">;

/** The lines of all purchases, each with its purchase's names. */
const rowsOf = ({ customers }: Account) =>
  customers.flatMap(({ purchases }) =>
    purchases.flatMap(({ lines, ...purchase }) => lines.map((line) => ({ ...purchase, ...line }))),
  );

type Row = ReturnType<typeof rowsOf>[number];
type Bar = Row["bars"][number];
type Mark = Row["marks"][number];

const DIAGONAL = "M-2,2l4,-4M0,8l8,-8M6,10l4,-4";
const OTHER_DIAGONAL = "M-2,6l4,4M0,0l8,8M6,-2l4,4";

/** Each kind of bar has a name and a pattern: it is read without colour. The fill is one of style.css. */
const BARS: Readonly<Record<Bar["kind"], readonly [name: string, lines: string, fill: string]>> = {
  period: ["period", "", "period"],
  renewal_leeway: ["leeway for its renewal", "M4,0v8", "soft"],
  silent_retry: ["Google's silent retry", "M0,2h8M0,6h8", "soft"],
  grace_period: ["grace period", DIAGONAL, "soft"],
  billing_retry: ["billing retry, no access", "M1,1h2v2h-2zM5,5h2v2h-2z", "none"],
  paused: ["paused, no access", "M2,0v8M6,0v8", "none"],
  revoked: ["refunded or revoked", `${DIAGONAL}${OTHER_DIAGONAL}`, "bad"],
  unmapped: ["grants nothing", "M0,4h3", "none"],
};
const KINDS = Object.keys(BARS) as readonly Bar["kind"][];

const MARKS: Readonly<Record<Mark["kind"], readonly [sign: string, name: string]>> = {
  verified: ["✓", "last verified"],
  refund: ["↩", "refunded"],
  "refund-reversed": ["↻", "refund reversed"],
  replaced: ["⇥", "replaced"],
  "asked-next": ["?", "store asked next"],
};

const ROW_HEIGHT = 46;
const DAY = 86_400_000;

const labelOf = ({ store, environment, productIdentifier, basePlanIdentifier }: Row): string =>
  spaced(
    productIdentifier,
    basePlanIdentifier,
    `(${store}${environment === "production" ? "" : `, ${environment}`})`,
  );

/** The last verification alone, and each other mark once. */
const marksOf = (rows: readonly Row[]): readonly Mark[] => {
  const marks = rows.flatMap((row) => row.marks).toSorted((a, b) => (a.at < b.at ? -1 : 1));
  const others = marks.filter(({ kind }) => kind !== "verified");
  const once = new Map(others.map((mark) => [`${mark.kind} ${mark.at}`, mark]));
  return [...marks.filter(({ kind }) => kind === "verified").slice(-1), ...once.values()];
};

/** A lane for each product of a purchase, with what is drawn in it. */
const drawnOf = (rows: readonly Row[]) => {
  const lanes = [...Map.groupBy(rows, (row) => JSON.stringify([row.key, labelOf(row)]))];
  return {
    lanes: lanes.map(([lane, group]) => ({ lane, label: group.map(labelOf)[0] ?? "" })),
    bars: lanes.flatMap(([lane, group]) =>
      group.flatMap(({ bars }) => bars.map((bar) => ({ ...bar, lane }))),
    ),
    marks: lanes.flatMap(([lane, group]) => marksOf(group).map((mark) => ({ ...mark, lane }))),
  };
};

type Drawn = ReturnType<typeof drawnOf>;
type DrawnBar = Drawn["bars"][number];
type DrawnMark = Drawn["marks"][number];

const domainOf = ({ bars, marks }: Drawn, now: number): readonly [Date, Date] => {
  const shown = [...bars.flatMap(({ from, to }) => [from, to ?? from]), ...marks.map(({ at }) => at)];
  const times = [now, ...shown.map((time) => Date.parse(time))];
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const margin = Math.max(DAY, (last - first) * 0.06);
  return [new Date(first - margin), new Date(last + margin)];
};

const draw = (drawn: Drawn, moment: string, width: number): Element => {
  const { lanes, bars, marks } = drawn;
  const now = Date.parse(moment);
  const domain = domainOf(drawn, now);
  const endOf = ({ to }: DrawnBar): Date => (to === null ? domain[1] : new Date(to));
  return Plot.plot({
    width,
    height: lanes.length * ROW_HEIGHT + 58,
    marginLeft: 14,
    marginRight: 14,
    marginTop: 34,
    x: { type: "utc", domain, label: null, axis: "top", grid: true },
    y: { type: "band", domain: lanes.map(({ lane }) => lane), axis: null, paddingInner: 0.1 },
    style: { background: "transparent", fontSize: "12px", overflow: "hidden" },
    marks: [
      ...KINDS.map((kind) =>
        Plot.barX(
          bars.filter((bar) => bar.kind === kind),
          {
            x1: ({ from }: DrawnBar) => new Date(from),
            x2: endOf,
            y: "lane",
            fill: `url(#bar-${kind})`,
            stroke: "currentColor",
            strokeWidth: 0.8,
            insetTop: 19,
            insetBottom: 4,
            title: ({ from, to }: DrawnBar) =>
              `${BARS[kind][0]}: ${timeText(from)} to ${to === null ? "no end" : timeText(to)}`,
          },
        ),
      ),
      Plot.text(
        bars.filter(({ to }) => to === null),
        { x: endOf, y: "lane", text: () => "▶", dx: 2, dy: 8, fill: "currentColor" },
      ),
      Plot.text(lanes, {
        y: "lane",
        text: "label",
        frameAnchor: "left",
        dy: -14,
        textAnchor: "start",
        fill: "currentColor",
        stroke: "var(--pico-background-color)",
        strokeWidth: 4,
      }),
      Plot.ruleX([now], { stroke: "currentColor", strokeWidth: 2, strokeDasharray: "4 3" }),
      Plot.text([now], {
        x: (at: number) => at,
        frameAnchor: "bottom",
        text: () => "now",
        dy: 14,
        fill: "currentColor",
        fontWeight: "bold",
      }),
      Plot.text(marks, {
        x: ({ at }: DrawnMark) => new Date(at),
        y: "lane",
        text: ({ kind }: DrawnMark) => MARKS[kind][0],
        title: ({ kind, at }: DrawnMark) => `${MARKS[kind][1]}: ${timeText(at)}`,
        dy: 8,
        fontSize: 15,
        fontWeight: "bold",
        fill: "currentColor",
        stroke: "var(--pico-background-color)",
        strokeWidth: 5,
      }),
    ],
  });
};

const Patterns = () => (
  <svg width="0" height="0" aria-hidden="true" class="patterns">
    <defs>
      {KINDS.map((kind) => (
        <pattern key={kind} id={`bar-${kind}`} width="8" height="8" patternUnits="userSpaceOnUse">
          <rect width="8" height="8" fill={`var(--fill-${BARS[kind][2]})`} />
          <path d={BARS[kind][1]} />
        </pattern>
      ))}
    </defs>
  </svg>
);

const Legend = ({ bars, marks }: Drawn) => {
  const kinds = new Set(bars.map(({ kind }) => kind));
  const signs = new Set(marks.map(({ kind }) => kind));
  return (
    <ul class="legend">
      {[...kinds].map((kind) => (
        <li key={kind}>
          <svg width="28" height="14" aria-hidden="true">
            <rect width="28" height="14" fill={`url(#bar-${kind})`} stroke="currentColor" />
          </svg>{" "}
          {BARS[kind][0]}
        </li>
      ))}
      {[...signs].map((kind) => (
        <li key={kind}>
          <span aria-hidden="true">{MARKS[kind][0]}</span> {MARKS[kind][1]}
        </li>
      ))}
      <li>
        <span aria-hidden="true">┆</span> now
      </li>
    </ul>
  );
};

const PictureTable = ({ rows }: { readonly rows: readonly Row[] }) => (
  <details>
    <summary>The same as a table</summary>
    <Table
      caption="Purchases over time"
      headings={["Product", "What", "Access", "From", "To", "Transaction"]}
      empty="There is no purchase."
      rows={rows.flatMap((row) =>
        [
          ...row.bars.map(({ kind, from, to, active }) => [
            BARS[kind][0],
            active ? "yes" : "no",
            <Time at={from} />,
            <Time at={to} none="no end" />,
          ]),
          ...row.marks.map(({ kind, at }) => [MARKS[kind][1], "", <Time at={at} />, ""]),
        ].map((cells) => [labelOf(row), ...cells, row.transactionIdentifier ?? "–"]),
      )}
    />
  </details>
);

/** The drawing's parts without the library's names for them: the picture has one name, and a group may have none. */
const withoutNames = (drawn: Element): Element => {
  for (const part of drawn.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
  return drawn;
};

export const Picture = ({ account }: { readonly account: Account }) => {
  const { moment } = account;
  const holder = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const rows = useMemo(() => rowsOf(account), [account]);
  const drawn = useMemo(() => drawnOf(rows), [rows]);
  useEffect(() => {
    const element = holder.current;
    if (element === null) return undefined;
    const watcher = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  useEffect(() => {
    if (width > 0) holder.current?.replaceChildren(withoutNames(draw(drawn, moment, width)));
  }, [drawn, moment, width]);
  return (
    <figure aria-labelledby="picture">
      <figcaption id="picture">
        Purchases over time, by what is known at <Time at={moment} />
      </figcaption>
      <Patterns />
      <div
        ref={holder}
        class="picture"
        role="img"
        aria-label="Purchases over time; the table below says the same."
      />
      <Legend {...drawn} />
      <PictureTable rows={rows} />
    </figure>
  );
};
