import type { IosStoreSynchronizeRequest, SynchronizeResponse } from "../contract/schemas.ts";
import { applicationOfBundle } from "./application-of.ts";
import { storeIosStoreRequest, type IosStoreCustomers } from "./ios-store-request.ts";
import { presentCustomer } from "./customer-answers.ts";

/**
 * The verified bundle names the application. An account is linked as asserted by the client.
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
