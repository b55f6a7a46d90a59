import { X509Certificate } from "node:crypto";
import { Primitive, Sequence } from "asn1js";
import {
  issueCertificate,
  TEMPLATES,
  type CertificateTemplate,
  type Extension,
  type Identity,
} from "../../../sandbox/ios-store/certificates.ts";

/** Certificate and key as a TLS server takes them. */
export interface ServerCertificate {
  readonly cert: string;
  readonly key: string;
}

/** The names that a TLS certificate is for (RFC 5280, 4.2.1.6). */
const subjectAltName = (name: string): Extension => ({
  oid: "2.5.29.17",
  critical: false,
  value: Buffer.from(
    new Sequence({
      value: [new Primitive({ idBlock: { tagClass: 3, tagNumber: 2 }, valueHex: Buffer.from(name) })],
    }).toBER(),
  ),
});

const pemOf = ({ certificate }: Identity): string => new X509Certificate(certificate).toString();

/** A certificate authority for TLS servers. */
export const makeAuthority = () => {
  const root = issueCertificate(TEMPLATES.root, null);
  return {
    pem: pemOf(root),
    issueFor: (
      name: string,
      validity: Partial<Pick<CertificateTemplate, "notBefore" | "notAfter">> = {},
    ): ServerCertificate => {
      const [basicConstraints, keyUsage] = TEMPLATES.leaf.extensions;
      if (basicConstraints === undefined || keyUsage === undefined) throw new Error("no extensions");
      const issued = issueCertificate(
        {
          ...TEMPLATES.leaf,
          ...validity,
          commonName: name,
          extensions: [basicConstraints, keyUsage, subjectAltName(name)],
        },
        root,
      );
      return {
        cert: pemOf(issued),
        key: issued.privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
      };
    },
  };
};
