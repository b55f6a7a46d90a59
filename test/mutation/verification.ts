/** The tests of verification as one file: preparing each file anew takes longer than its tests. */
import "../stores/ios-store/agreement.test.ts";
import "../stores/ios-store/app-store-server.test.ts";
import "../stores/ios-store/app-transaction.test.ts";
import "../stores/ios-store/certificates.test.ts";
import "../stores/ios-store/chain.test.ts";
import "../stores/ios-store/der.test.ts";
import "../stores/ios-store/hostile.test.ts";
import "../stores/ios-store/jws.test.ts";
import "../stores/ios-store/notification.test.ts";
import "../stores/ios-store/one-purchase.test.ts";
import "../stores/ios-store/purchases.test.ts";
import "../stores/ios-store/question.test.ts";
import "../stores/ios-store/refused-claims.test.ts";
import "../stores/ios-store/renewal-info.test.ts";
import "../stores/ios-store/signature.test.ts";
import "../stores/ios-store/transaction.test.ts";
import "../stores/ios-store/xcode.test.ts";
