import { tellsChanges, type Application } from "../../applications/application.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, ApplicationId } from "../../identifiers.ts";
import type { Change, ChangePlace } from "../../telling/change.ts";
import type { Told } from "../../telling/change-table.ts";
import type { AccountDelivery, Delivery, DestinationReference } from "../../delivery/delivery-queue.ts";

type WaitingVersion = Pick<AccountDelivery & Delivery, "version" | "since" | "tries" | "nextTryAt">;

export interface ToldTable {
  /** Null: nothing was told, or the account was erased since. */
  toldOf(application: ApplicationId, account: AccountId): Promise<Told | null>;
  /** Null: the change is no longer kept. */
  changeAt(application: ApplicationId, place: ChangePlace): Promise<Change | null>;
  /** Null: nothing of the account waits. */
  waitingOf(destination: DestinationReference, account: AccountId): Promise<WaitingVersion | null>;
  /** Time of the account's first look among the oldest due ones; null: it has none there. */
  lookDueSince(application: ApplicationId, account: AccountId, moment: Instant): Promise<Instant | null>;
}

/** Null: the application tells no changes, and told none of the account. */
export const loadToldReport = async (
  table: ToldTable,
  application: Application,
  account: AccountId,
  moment: Instant,
) => {
  const { identifier, destinations } = application;
  const told = await table.toldOf(identifier, account);
  if (told === null && !tellsChanges(application)) return null;
  const [change, lookDueSince, waiting] = await Promise.all([
    told?.last == null ? null : table.changeAt(identifier, told.last),
    table.lookDueSince(identifier, account, moment),
    Promise.all(
      destinations.map(async ({ name }) => ({
        name,
        waiting: await table.waitingOf({ application: identifier, destination: name }, account),
      })),
    ),
  ]);
  return {
    last:
      told === null || told.version === 0
        ? null
        : { version: told.version, change, entitlements: [...told.digest.entitlements.keys()].sort() },
    /** Time of the due look; null: none is due. */
    lookDueSince,
    /** The next look that time alone makes due; null: time alone changes nothing. */
    nextLookAt: told?.lookAt ?? null,
    destinations: waiting,
  };
};
export type ToldReport = NonNullable<Awaited<ReturnType<typeof loadToldReport>>>;
