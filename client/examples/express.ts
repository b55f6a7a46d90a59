import express, { type NextFunction, type Request, type Response } from "express";
import {
  createEntitlementsClient,
  EntitlementsError,
  MessageError,
  verifyMessage,
} from "customer-entitlements-client";

const service = createEntitlementsClient({
  baseUrl: process.env["ENTITLEMENTS_URL"] ?? "",
  apiKey: process.env["ENTITLEMENTS_KEY"] ?? "",
  cache: {},
});
// During a rotation the old and the new one, separated by a space.
const secrets = (process.env["ENTITLEMENTS_SECRETS"] ?? "").split(" ");

/**
 * Stands for your session: the signed-in account, by an identifier that never changes. Never trust one that the app
 * merely sends.
 */
const accountOf = (request: Request): string => request.get("x-account") ?? "";

/** Stands for your database: the newest version of each account that was handled. */
const handled = new Map<string, number>();

export const app = express();

// Before any JSON parser: the signature covers the body as received.
app.post("/hooks/entitlements", express.raw({ type: () => true, limit: "1mb" }), (request, response) => {
  const message = verifyMessage(request.body, request.headers, secrets);
  if (message.type === "account.entitlements_changed") {
    const { applicationAccountIdentifier: account, version } = message.data;
    if (version > (handled.get(account) ?? 0)) {
      handled.set(account, version);
      service.forget(account);
    }
  }
  response.sendStatus(204);
});

// As large as a person's purchases may be: a transaction is about 5 KB.
app.use(express.json({ limit: "10mb" }));

app.post("/purchases/ios", async (request, response) => {
  const { signedAppTransaction, signedTransactions, signedRenewalInfos } = request.body;
  const linked = await service.linkIosStoreCustomer({
    signedAppTransaction,
    signedTransactions,
    signedRenewalInfos,
    applicationAccountIdentifier: accountOf(request),
  });
  response.json(linked.entitlements);
});

app.post("/purchases/android", async (request, response) => {
  const { packageName, purchaseToken, productKind, productIdentifier } = request.body;
  const linked = await service.linkAndroidStoreCustomer({
    packageName,
    purchaseToken,
    productKind,
    productIdentifier,
    applicationAccountIdentifier: accountOf(request),
  });
  response.json(linked.entitlements);
});

app.get("/maps/offline", async (request, response) => {
  const allowed = await service.hasEntitlement(accountOf(request), "premium");
  if (allowed) response.json({ maps: ["alps", "andes"] });
  else response.sendStatus(403);
});

app.use((error: unknown, _request: Request, response: Response, next: NextFunction) => {
  if (error instanceof MessageError) response.sendStatus(400);
  else if (error instanceof EntitlementsError) {
    // 409: another account has the purchases, and the app offers to sign in there. 503: the app sends it again later.
    const status = error.isTemporary
      ? 503
      : error.status === 400 || error.status === 409
        ? error.status
        : 502;
    if (error.retryAfter !== null) response.set("Retry-After", String(Math.ceil(error.retryAfter / 1000)));
    response.status(status).json({ error: error.code });
  } else next(error);
});
