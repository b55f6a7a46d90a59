import {
  createEntitlementsClient,
  EntitlementsError,
  MessageError,
  verifyMessage,
} from "customer-entitlements-client";

// lib/entitlements.ts: one client for all routes and server components.

export const service = createEntitlementsClient({
  baseUrl: process.env["ENTITLEMENTS_URL"] ?? "",
  apiKey: process.env["ENTITLEMENTS_KEY"] ?? "",
  cache: {},
});

/** Stands for your sessions, such as `auth()` of your sign-in library. */
const accountOf = async (request: Request): Promise<string> => request.headers.get("x-account") ?? "";

// app/purchases/ios/route.ts: what the iOS app sends when the person has signed in, and after a purchase.

export const linkPurchases = async (request: Request): Promise<Response> => {
  const { signedAppTransaction, signedTransactions, signedRenewalInfos } = await request.json();
  try {
    const { entitlements } = await service.linkIosStoreCustomer({
      signedAppTransaction,
      signedTransactions,
      signedRenewalInfos,
      applicationAccountIdentifier: await accountOf(request),
    });
    return Response.json(entitlements);
  } catch (error) {
    if (!(error instanceof EntitlementsError)) throw error;
    const status = error.isTemporary
      ? 503
      : error.status === 400 || error.status === 409
        ? error.status
        : 502;
    return Response.json({ error: error.code }, { status });
  }
};

// app/hooks/entitlements/route.ts: the service's messages.

export const takeMessage = async (request: Request): Promise<Response> => {
  const secrets = (process.env["ENTITLEMENTS_SECRETS"] ?? "").split(" ");
  try {
    const message = verifyMessage(await request.text(), request.headers, secrets);
    if (message.type === "account.entitlements_changed")
      service.forget(message.data.applicationAccountIdentifier);
    return new Response(null, { status: 204 });
  } catch (error) {
    if (error instanceof MessageError) return new Response(null, { status: 400 });
    throw error;
  }
};
