/** The tests of the entitlement rules as one file: preparing each file anew takes longer than its tests. */
import "../entitlements/access-periods.test.ts";
import "../entitlements/catalog.test.ts";
import "../entitlements/entitlements.test.ts";
import "../entitlements/events.test.ts";
import "../entitlements/holdings.test.ts";
import "../entitlements/join.test.ts";
import "../entitlements/lineages.test.ts";
import "../entitlements/moment.test.ts";
import "../entitlements/next-change.properties.test.ts";
import "../entitlements/next-change.test.ts";
import "../entitlements/passes.test.ts";
import "../entitlements/periods.test.ts";
import "../entitlements/purchase.test.ts";
import "../entitlements/renewal.test.ts";
import "../entitlements/time.test.ts";
import "../entitlements/ungranted.test.ts";
import "../stores/ios-store/one-purchase.test.ts";
