#!/usr/bin/env node
// Starts the `tidemark` command. Plain JavaScript that old versions of Node can read, so that they get a clear message.
var found = process.versions.node;
if (parseInt(found, 10) < 24) {
  console.error(`error: tidemark needs Node 24 or newer; this is Node ${found} (${process.execPath}).`);
  process.exit(78);
} else {
  // Before anything else is read: the second command on a machine starts in half the time of the first.
  import('node:module')
    .then((node) => {
      node.enableCompileCache();
      return import('../src/main.ts');
    })
    .catch((error) => {
      console.error(error);
      process.exit(70);
    });
}
