import type { PurchaseKey } from "../identifiers.ts";
import { compare } from "../order.ts";
import { countingOf, eventLines, eventName, eventsUnderOneName, refundedAsBoth } from "./events.ts";
import type { Line } from "./purchase.ts";

/** One lineage of a person, with its lines that may grant. */
export interface Lineage {
  readonly key: PurchaseKey;
  readonly lines: readonly Line[];
}

/** Last signed copy of one of a person's transaction ids, and the lineages it was signed under. */
interface Copy {
  readonly line: Line;
  /** Lineage of the last signed copy. */
  readonly home: PurchaseKey;
  readonly lineages: Set<PurchaseKey>;
}

/** A purchase event, cut at its upgrade, in the one lineage where it counts. */
export interface CountingEvent {
  readonly line: Line;
  /** Whether it was signed under several lineages. */
  readonly isMoved: boolean;
}

/**
 * Whether a web order names the event. A web order is the same in every lineage; other names are unique only within
 * theirs.
 */
const isWebOrder = ({ nature, event }: Line): boolean =>
  nature === "auto_renewable" && event?.startsWith("until ") === false;

const namesOf = ({ line, lineages }: Copy): readonly string[] =>
  isWebOrder(line) ? [eventName(line)] : [...lineages].map((key) => `${key} ${eventName(line)}`);

/** Whether two lineages share a transaction id or a web order, so that an event may be signed under both. */
const mayShareEvents = (lineages: readonly Lineage[]): boolean => {
  const seen = new Map<string, PurchaseKey>();
  return lineages.some(({ key, lines }) =>
    lines.some((line) =>
      [line.transactionIdentifier, ...(isWebOrder(line) ? [eventName(line)] : [])].some((name) => {
        const known = seen.get(name ?? "");
        seen.set(name ?? "", known ?? key);
        return known !== undefined && known !== key;
      }),
    ),
  );
};

const copiesOf = (lineages: readonly Lineage[]): readonly Copy[] => {
  const copies = new Map<string, Copy>();
  for (const { key, lines } of lineages)
    for (const line of lines) {
      const id = line.transactionIdentifier ?? "";
      const known = copies.get(id);
      if (known === undefined) {
        copies.set(id, { line, home: key, lineages: new Set([key]) });
        continue;
      }
      const isLater =
        line.verifiedAt > known.line.verifiedAt ||
        (line.verifiedAt === known.line.verifiedAt && key < known.home);
      const [later, earlier] = isLater ? [line, known.line] : [known.line, line];
      known.lineages.add(key);
      copies.set(id, {
        ...known,
        line: refundedAsBoth(later, earlier),
        home: isLater ? key : known.home,
      });
    }
  return [...copies.values()];
};

/** Groups copies that share a name, directly or transitively. */
const underOneName = (copies: readonly Copy[]): readonly (readonly Copy[])[] => {
  const groups = new Map<string, Copy[]>();
  for (const copy of copies) {
    const names = namesOf(copy);
    const known = new Set(names.flatMap((name) => groups.get(name) ?? []));
    const group = [...known, copy];
    for (const name of group.flatMap(namesOf)) groups.set(name, group);
  }
  return [...new Set(groups.values())];
};

/**
 * Purchase events of one person by the lineage where each counts, oldest first. The App Store has been seen to move
 * transactions into another lineage of the same person, and to reissue a period there under another id. Such an event
 * counts once, with all its copies, in the lineage where it was signed last.
 *
 * @param lineages of one person in one environment other than Xcode, where ids identify nothing
 */
export const countingEvents = (
  lineages: readonly Lineage[],
): ReadonlyMap<PurchaseKey, readonly CountingEvent[]> => {
  if (lineages.length < 2 || !mayShareEvents(lineages))
    return new Map(
      lineages.map(({ key, lines }) => [key, eventLines(lines).map((line) => ({ line, isMoved: false }))]),
    );
  const counting = new Map(lineages.map(({ key }) => [key, [] as CountingEvent[]]));
  for (const group of underOneName(copiesOf(lineages))) {
    const byLine = new Map(group.map((copy) => [copy.line, copy]));
    for (const { copies, line } of eventsUnderOneName(group.map((copy) => copy.line))) {
      const known = copies.flatMap((copy) => byLine.get(copy) ?? []);
      const [last] = known.toSorted(
        (a, b) => b.line.verifiedAt - a.line.verifiedAt || compare(a.home, b.home),
      );
      if (last === undefined) continue;
      const isMoved = new Set(known.flatMap((copy) => [...copy.lineages])).size > 1;
      counting.get(last.home)?.push({ line, isMoved });
    }
  }
  return new Map([...counting].map(([key, events]) => [key, countingOf(events)]));
};
