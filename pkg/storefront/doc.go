// Package storefront renders the shop's page: its HTML, its texts in each language, and its colours. It also has the
// script and the stylesheet that the page loads.
//
// The HTML already contains the products, so shoppers see them without the script. The script, shop.js, uses the HTTP
// interface as any other client does. The embedded files are large, so only the function that serves the page may
// contain them. The package may import the catalogue and money, but not HTTP, AWS or the store.
package storefront
