import type { SynchronizeResponse, IosStoreSynchronizeRequest } from "../contract/schemas.ts";
import { applicationOfBundle } from "./application-of.ts";
import { storeIosStoreRequest, type IosStoreCustomers } from "./ios-store-request.ts";
import { presentCustomer } from "./present.ts";

/**
 * Verifies what a client sends without a credential, stores the purchases, and answers what they entitle to. The
 * application is the one that has the verified bundle; an account that the client names is linked as a client's word.
 *
 * @throws ServiceError the errors of the endpoint
 */
export const synchronizeIosStorePurchases = async (
  customers: IosStoreCustomers,
  request: IosStoreSynchronizeRequest,
): Promise<SynchronizeResponse> => {
  const { application, customer } = await storeIosStoreRequest(customers, request, "client", (bundle) =>
    applicationOfBundle(customers.directory, bundle),
  );
  return presentCustomer(application, customer, customers.now());
};
