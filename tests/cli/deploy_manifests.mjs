// Checks Kubernetes manifests against the API's schemas: types, ranges and fields that must be there,
// not names that it does not know. node deploy_manifests.mjs NODE_MODULES MANIFEST...
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [modules, ...files] = process.argv.slice(2);
const load = createRequire(modules + "/");
const yaml = load("js-yaml");
let problems = 0;
for (const file of files)
  for (const manifest of yaml.loadAll(readFileSync(file, "utf8"))) {
    const { apiVersion, kind, metadata } = manifest;
    try {
      const { [kind]: Model } = load(`kubernetes-models/${apiVersion}/${kind}`);
      new Model(manifest).validate();
    } catch (error) {
      console.error(`${file}: ${kind} ${metadata?.name}: ${error.message.split("\n")[0]}`);
      ++problems;
    }
  }
process.exit(problems ? 1 : 0);
