import { stringify } from "yaml";
import { manifestOf } from "../../lib/administration/manifest/difference.ts";
import { type Application, forwardsTo, isForwardedHere } from "../../lib/applications/application.ts";
import { STORES, type Store } from "../../lib/contract/schemas.ts";
import {
  askQueuesOf,
  notifyingStores,
  storeText,
  sweptStores,
  type StoreInEnvironment,
} from "../../lib/customers/application-stores.ts";
import type { WaitingForwards } from "../../lib/delivery/delivery-queue.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { OperatorError } from "../operator-error.ts";
import type { Session } from "../session.ts";
import { timeOrNull } from "../text/answer.ts";
import { pauseJson, pauseText } from "../text/asking.ts";
import { named } from "./apply.ts";
import { APPLICATION, command, text } from "./command.ts";
import { healthJson, healthText } from "./destination.ts";

export const listApplications = command({
  name: "application list",
  about: "list the applications of the table",
  takes: {},
  options: {},
  run: async ({ session: { applications, store } }) => {
    const listed = await applications.list();
    return {
      json: { applications: listed },
      text:
        listed.length === 0
          ? `The table ${store.name} has no application.`
          : listed.map(({ identifier, name }) => `${identifier}  ${name}`),
    };
  },
});

const placeOf = ({ store, environment, bundleOrPackage }: StoreInEnvironment) => ({
  store,
  environment,
  bundleOrPackage,
});

/** Last notification of each bundle and package of an application, by environment; `signedAt` null: none yet. */
const lastNotificationsOf = async ({ notifications }: Session, application: Application) => {
  const stored = await notifications.ofApplication(application.identifier);
  return notifyingStores(application).map((notified) => {
    const last = stored.find((one) => storeText(one) === storeText(notified));
    return { ...placeOf(notified), signedAt: last?.signedAt ?? null };
  });
};

const queuesOf = async ({ queue, moment }: Session, application: Application) =>
  Promise.all(
    STORES.flatMap((store) => askQueuesOf(application, store)).map(async (reference) => {
      const [[oldest], health] = await Promise.all([
        queue.of(reference).due(moment, 1),
        queue.healthOf(reference),
      ]);
      return { ...placeOf(reference), oldestDueAt: oldest?.ask.at ?? null, health };
    }),
  );

/** Time up to which each list of an application's stores was read; `sweptUntil` null: never yet. */
const sweepsOf = async ({ watermarks }: Session, application: Application) =>
  Promise.all(
    sweptStores(application).map(async (swept) => ({
      ...placeOf(swept),
      sweptUntil: await watermarks.read(swept),
    })),
  );

const forwardingOf = async ({ forwards }: Session, { identifier: application, iosStore }: Application) =>
  Promise.all(
    iosStore.flatMap((store) => {
      const forwardTo = forwardsTo(store);
      if (forwardTo === null) return [];
      const bundle = { application, bundleIdentifier: store.bundleIdentifier };
      return Promise.all([forwards.waiting(bundle), forwards.healthOf(bundle)]).then(([waiting, health]) => ({
        bundleOrPackage: store.bundleIdentifier,
        forwardTo,
        waiting,
        health,
      }));
    }),
  );

const waitingText = ({ count, isMore, since }: WaitingForwards): string =>
  since === null
    ? "nothing waits"
    : `${count}${isMore ? " or more" : ""} ${count === 1 && !isMore ? "waits" : "wait"}, the oldest since ${isoTime(since)}`;

const LISTS = {
  "ios-store": "notifications that the App Store could not deliver",
  "android-store": "Google's voided purchases",
} as const satisfies Record<Store, string>;

const listOf = ({ iosStore }: Application, store: Store, bundleOrPackage: string): string => {
  const bundle = iosStore.find(({ bundleIdentifier }) => bundleIdentifier === bundleOrPackage);
  return store === "ios-store" && bundle !== undefined && isForwardedHere(bundle)
    ? "all notifications of the App Store, which another service forwards"
    : LISTS[store];
};

/** `lines`: the state of its stores and queues. */
export const reportApplication = async (session: Session, application: Application) => {
  const [lastNotifications, queues, sweeps, forwarding] = await Promise.all([
    lastNotificationsOf(session, application),
    queuesOf(session, application),
    sweepsOf(session, application),
    forwardingOf(session, application),
  ]);
  const lines = [
    ...lastNotifications.map(
      ({ store, environment, bundleOrPackage, signedAt }) =>
        `Last notification of ${store} ${bundleOrPackage}, ${environment}: ${timeOrNull(signedAt) ?? "none yet"}`,
    ),
    ...queues.flatMap(({ store, environment, bundleOrPackage, oldestDueAt, health }) => [
      `Queue of ${store} ${bundleOrPackage}, ${environment}: ${oldestDueAt === null ? "nothing is due" : `oldest due since ${isoTime(oldestDueAt)}`}`,
      ...pauseText(store, health, session.moment),
    ]),
    ...sweeps.map(
      ({ store, environment, bundleOrPackage, sweptUntil }) =>
        `List of ${listOf(application, store, bundleOrPackage)}, ${bundleOrPackage}, ${environment}: ${sweptUntil === null ? "never read yet" : `read until ${isoTime(sweptUntil)}`}`,
    ),
    ...forwarding.map(
      ({ bundleOrPackage, forwardTo, waiting, health }) =>
        `Forwarding of ios-store ${bundleOrPackage} to ${forwardTo}: ${waitingText(waiting)}; ${healthText(health)}`,
    ),
  ];
  return { manifest: manifestOf(application), lastNotifications, queues, sweeps, forwarding, lines };
};

export const showApplication = command({
  name: "application show",
  about: "show an application as a manifest",
  takes: { application: APPLICATION },
  options: {},
  run: async ({ session, application }) => {
    const report = await reportApplication(session, application);
    const { manifest, lastNotifications, queues, sweeps, forwarding, lines } = report;
    return {
      json: {
        applicationIdentifier: application.identifier,
        ...manifest,
        lastNotifications,
        queues: queues.map(({ health, ...queue }) => ({ ...queue, paused: pauseJson(health) })),
        sweeps,
        ...(forwarding.length > 0 && {
          forwarding: forwarding.map((one) => ({
            store: "ios-store",
            ...one,
            health: healthJson(one.health),
          })),
        }),
      },
      text: [
        stringify(manifest, { aliasDuplicateObjects: false }).trimEnd(),
        ...lines.map((line) => `# ${line}`),
      ],
    };
  },
});

export const findApplicationOf = command({
  name: "application find",
  about: "find the application that has a bundle or a package",
  takes: { name: text("<name>", "an iOS-store bundle identifier or an Android-store package name") },
  options: {},
  run: async ({ session: { applications, store }, name }) => {
    const registrations = await applications.registrationsOf(
      STORES.map((store) => ({ store, bundleOrPackage: name })),
    );
    const [application, ...others] = new Set(registrations.map((registration) => registration.application));
    if (application === undefined)
      throw new OperatorError(`No application in the table ${store.name} has the bundle or package ${name}.`);
    if (others.length > 0)
      throw new OperatorError(
        `Several applications have a bundle or package of that name: ${named(registrations)}.`,
      );
    return {
      json: { applicationIdentifier: application, stores: registrations.map(({ store }) => store) },
      text: application,
    };
  },
});
