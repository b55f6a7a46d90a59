import type { Application } from "../applications/application.ts";
import { referenceText, type PurchaseReference } from "../entitlements/purchase.ts";
import type { AppStoreApp } from "../stores/ios-store/app-store-server.ts";
import { askAppStore, ofLineage, type AppStoreQuestions } from "./ask-app-store.ts";
import type { DueAsk } from "./ask.ts";
import { failedIfErased, isOfErased, type AskOutcome } from "./ask-outcome.ts";
import { storeFacts } from "./store-facts.ts";

/** Status of an answer that arrived. */
const READ = 200;

/** Asks Apple about a purchase with the application's key, verifies the answer, and stores it. */
export const askApple = async (
  questions: AppStoreQuestions,
  application: Application,
  { purchase, source }: Pick<DueAsk, "purchase" | "source">,
): Promise<AskOutcome> => {
  const { table, now } = questions;
  const { environment } = purchase;
  if (source.store !== "ios-store" || environment === "xcode") return { outcome: "failed" };
  const { bundleIdentifier } = source;
  const configuration = application.iosStore.find((one) => one.bundleIdentifier === bundleIdentifier);
  if (configuration == null || configuration.serverApi === null) return { outcome: "unconfigured" };
  if (!configuration.environments.includes(environment)) return { outcome: "failed" };

  const askedAt = now();
  const known = await table.findFacts(application.identifier, [], [purchase], askedAt);
  const stored = known.purchases.get(referenceText(purchase));
  if (stored === undefined) return { outcome: "over" };
  const app: AppStoreApp = { bundleIdentifier, environment, key: configuration.serverApi };
  const answer = await askAppStore(questions, configuration, app, stored.purchase, askedAt);
  switch (answer.outcome) {
    case "unknown":
      return { outcome: "unknown" };
    case "credential-rejected":
      return { outcome: "credential-rejected" };
    case "unavailable":
      // An answer that cannot be parsed concerns only this purchase.
      return answer.status === READ
        ? { outcome: "failed" }
        : { outcome: "unavailable", retryAt: answer.retryAt };
    case "answered": {
      const facts = answer.content;
      if (facts === null) return { outcome: "failed" };
      // An answer about others, as of a lineage that has moved, moves only their refreshes.
      const isNamed = (one: PurchaseReference): boolean => referenceText(one) === referenceText(purchase);
      const isAbout =
        facts.purchases.some((proven) => isNamed(proven.purchase)) || facts.renewals.some(isNamed);
      return storeFacts(questions, application, facts, null)
        .catch(async (error: unknown) => {
          if (!isOfErased(error)) throw error;
          return storeFacts(questions, application, ofLineage(facts, purchase), null);
        })
        .then(() => ({ outcome: isAbout ? "stored" : "failed" }), failedIfErased);
    }
  }
};
