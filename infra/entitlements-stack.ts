import { join } from "node:path";
import { CfnOutput, Duration, Stack, type StackProps } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { endpoints, type EndpointName } from "../lib/contract/endpoints.ts";
import { EntitlementsApi } from "./constructs/entitlements-api.ts";
import { EntitlementsTable } from "./constructs/entitlements-table.ts";
import { ServiceFunction } from "./constructs/service-function.ts";

export interface EntitlementsStackProps extends StackProps {
  /** Holds a folder for each function, `<folder>/handler.ts` exporting `handler`. */
  readonly functionsFolder: string;
  /** The names of the secrets that the Android-store function may read all start so. */
  readonly secretPrefix: string;
}

/** A request must be answered within API Gateway's 29 seconds; the function is given a second less to fail in its own words. */
const WITHIN_A_REQUEST = Duration.seconds(28);

/** The whole service: one table, one function for each endpoint, the authorizer and the API. */
export class EntitlementsStack extends Stack {
  constructor(scope: Construct, id: string, props: EntitlementsStackProps) {
    const { functionsFolder, secretPrefix, ...stackProps } = props;
    super(scope, id, stackProps);

    const table = new EntitlementsTable(this, "Table");
    const entryOf = (folder: string): string => join(functionsFolder, folder, "handler.ts");
    const functionOf = (endpoint: EndpointName, name: string, timeout: Duration): ServiceFunction =>
      new ServiceFunction(this, name, {
        entry: entryOf(endpoints[endpoint].function),
        description: endpoints[endpoint].summary,
        memory: 1024,
        timeout,
      });

    const authorizer = new ServiceFunction(this, "AuthorizeCredential", {
      entry: entryOf("authorize-credential"),
      description: "Authorize an API key",
      memory: 512,
      timeout: Duration.seconds(10),
    });
    authorizer.getsItemsOf(table);

    const linkAndroid = functionOf("linkAndroidStoreCustomer", "LinkAndroidStoreCustomer", WITHIN_A_REQUEST);
    linkAndroid.changes(table);
    linkAndroid.readsSecrets(secretPrefix);

    const linkIos = functionOf("linkIosStoreCustomer", "LinkIosStoreCustomer", WITHIN_A_REQUEST);
    linkIos.changes(table);

    const read = functionOf("readAccountEntitlements", "ReadAccountEntitlements", Duration.seconds(10));
    read.queries(table);

    const synchronize = functionOf(
      "synchronizeIosStorePurchases",
      "SynchronizeIosStorePurchases",
      WITHIN_A_REQUEST,
    );
    synchronize.changes(table);

    const api = new EntitlementsApi(this, "Api", {
      authorizer: authorizer.handler,
      handlers: {
        linkAndroidStoreCustomer: linkAndroid.handler,
        linkIosStoreCustomer: linkIos.handler,
        readAccountEntitlements: read.handler,
        synchronizeIosStorePurchases: synchronize.handler,
      },
    });

    // oxlint-disable-next-line no-new -- a construct joins its scope when it is made
    new CfnOutput(this, "Address", {
      description: "The base address: paths of the contract follow it.",
      value: api.address,
    });
    // oxlint-disable-next-line no-new -- a construct joins its scope when it is made
    new CfnOutput(this, "TableName", {
      description: "The table, as the operator's command line takes it.",
      value: table.name,
    });
  }
}
