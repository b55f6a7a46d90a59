import * as Plot from "@observablehq/plot";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Answer } from "../server.ts";
import { Table, Time, timeText } from "./text.tsx";

type Row = Answer<"account">["picture"][number];
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
  [
    productIdentifier,
    basePlanIdentifier,
    `(${store}${environment === "production" ? "" : `, ${environment}`})`,
  ]
    .filter(Boolean)
    .join(" ");

/** The last verification alone, and each other mark once. */
const marksOf = (rows: readonly Row[]): readonly Mark[] => {
  const marks = rows.flatMap((row) => row.marks).toSorted((a, b) => (a.at < b.at ? -1 : 1));
  const last = marks.findLast(({ kind }) => kind === "verified");
  const others = marks.filter(({ kind }) => kind !== "verified");
  const once = new Map(others.map((mark) => [`${mark.kind} ${mark.at}`, mark]));
  return [...(last === undefined ? [] : [last]), ...once.values()];
};

const lanesOf = (rows: readonly Row[]) => {
  const groups = Map.groupBy(rows, (row) => JSON.stringify([row.key, labelOf(row)]));
  return [...groups].map(([name, group]) => ({
    name,
    label: group.map(labelOf)[0] ?? "",
    bars: group.flatMap(({ bars }) => bars),
    marks: marksOf(group),
  }));
};

type Lanes = ReturnType<typeof lanesOf>;

const domainOf = (lanes: Lanes, now: number): readonly [number, number] => {
  const times = lanes.flatMap(({ bars, marks }) => [
    ...bars.flatMap(({ from, to }) => [Date.parse(from), ...(to === null ? [] : [Date.parse(to)])]),
    ...marks.map(({ at }) => Date.parse(at)),
  ]);
  const [first, last] = [Math.min(now, ...times), Math.max(now, ...times)];
  const margin = Math.max(DAY, (last - first) * 0.06);
  return [first - margin, last + margin];
};

const draw = (lanes: Lanes, moment: string, width: number): Element => {
  const now = Date.parse(moment);
  const [first, last] = domainOf(lanes, now);
  const bars = lanes.flatMap((lane) =>
    lane.bars.map((bar) => ({
      ...bar,
      lane: lane.name,
      from: new Date(bar.from),
      to: new Date(bar.to === null ? last : Date.parse(bar.to)),
      isOpen: bar.to === null,
      title: `${BARS[bar.kind][0]}: ${timeText(bar.from)} to ${bar.to === null ? "no end" : timeText(bar.to)}`,
    })),
  );
  const marks = lanes.flatMap((lane) =>
    lane.marks.map((mark) => ({
      lane: lane.name,
      at: new Date(mark.at),
      sign: MARKS[mark.kind][0],
      title: `${MARKS[mark.kind][1]}: ${timeText(mark.at)}`,
    })),
  );
  return Plot.plot({
    width,
    height: lanes.length * ROW_HEIGHT + 58,
    marginLeft: 14,
    marginRight: 14,
    marginTop: 34,
    x: { type: "utc", domain: [new Date(first), new Date(last)], label: null, axis: "top", grid: true },
    y: { type: "band", domain: lanes.map(({ name }) => name), axis: null, paddingInner: 0.1 },
    style: { background: "transparent", fontSize: "12px", overflow: "hidden" },
    marks: [
      ...KINDS.map((kind) =>
        Plot.barX(
          bars.filter((bar) => bar.kind === kind),
          {
            x1: "from",
            x2: "to",
            y: "lane",
            fill: `url(#bar-${kind})`,
            stroke: "currentColor",
            strokeWidth: 0.8,
            insetTop: 19,
            insetBottom: 4,
            title: "title",
          },
        ),
      ),
      Plot.text(
        bars.filter(({ isOpen }) => isOpen),
        { x: "to", y: "lane", text: () => "▶", dx: 2, dy: 8, fill: "currentColor" },
      ),
      Plot.text(lanes, {
        y: "name",
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
        x: "at",
        y: "lane",
        text: "sign",
        title: "title",
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

const Legend = ({ lanes }: { readonly lanes: Lanes }) => {
  const kinds = new Set(lanes.flatMap(({ bars }) => bars.map(({ kind }) => kind)));
  const signs = new Set(lanes.flatMap(({ marks }) => marks.map(({ kind }) => kind)));
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

export const Picture = ({ rows, moment }: { readonly rows: readonly Row[]; readonly moment: string }) => {
  const holder = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const lanes = lanesOf(rows);
  useEffect(() => {
    const element = holder.current;
    if (element === null) return undefined;
    const watcher = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  useEffect(() => {
    if (width > 0) holder.current?.replaceChildren(withoutNames(draw(lanesOf(rows), moment, width)));
  }, [rows, moment, width]);
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
      <Legend lanes={lanes} />
      <PictureTable rows={rows} />
    </figure>
  );
};
