import type { ToldReport } from "../../lib/administration/reports/told-report.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { counted, type Lines } from "./answer.ts";

/** An account's told report as JSON; null: its application tells no changes. */
export const toldJson = (told: ToldReport | null) =>
  told && {
    version: told.last?.version ?? 0,
    toldAt: told.last?.change?.toldAt ?? null,
    // Null: the change is not kept any more.
    entitlements: told.last?.change?.data?.entitlements ?? null,
    entitlementIdentifiers: told.last?.entitlements ?? [],
    lookDueSince: told.lookDueSince,
    nextLookAt: told.nextLookAt,
    destinations: told.destinations.map(({ name, waiting }) => {
      if (waiting === null) return { name, waiting };
      const { version, since, tries, nextTryAt } = waiting;
      return { name, waiting: { version, since, tries, nextTryAt } };
    }),
  };

const lastText = ({ last }: ToldReport): string => {
  if (last === null) return "nothing yet";
  const { change, entitlements, version } = last;
  const stated = change?.data?.entitlements.map(({ identifier, status }) => `${identifier} ${status}`);
  const state = stated ?? entitlements;
  const at = change === null ? "more than 30 days ago" : isoTime(change.toldAt);
  return `version ${version}, ${at}: ${state.length === 0 ? "no entitlements" : state.join(", ")}`;
};

const destinationText = ({ name, waiting }: ToldReport["destinations"][number]): string => {
  if (waiting === null) return `${name}: nothing waits`;
  const { version, since, tries, nextTryAt } = waiting;
  const next = nextTryAt === 0 ? "at once" : isoTime(nextTryAt);
  return `${name}: version ${version} waits, since ${isoTime(since)}; ${counted(tries, "try", "tries")}, next ${next}`;
};

const lookText = ({ lookDueSince, nextLookAt }: ToldReport): string =>
  lookDueSince !== null
    ? `to be looked at since ${isoTime(lookDueSince)}`
    : nextLookAt === null
      ? "looked at again when something changes it"
      : `looked at again at ${isoTime(nextLookAt)}, or when something changes it`;

export const toldText = (told: ToldReport | null): readonly Lines[] =>
  told === null ? [] : ["Told", [lastText(told), ...told.destinations.map(destinationText), lookText(told)]];
